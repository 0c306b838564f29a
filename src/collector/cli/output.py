"""Writing to standard output, which may be closed, full, or without a reader."""

import contextlib
import errno
import os
import sys

__all__ = ["abandon_output", "write_output"]


def write_output(data: bytes) -> None:
    """Write to standard output, at once.

    Raises:
        OSError: it cannot be written; what was not is given up.
    """
    if sys.stdout is None:  # it was closed when the interpreter started
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError:
        abandon_output()
        raise


def abandon_output() -> None:
    """Keep the interpreter's own flush at exit from failing over standard output again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
