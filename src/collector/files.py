"""Reading files of unknown content without surprise, and writing files whole or not at all."""

import contextlib
import errno
import os
import stat
from pathlib import Path

__all__ = ["FILE_SIZE_LIMIT_BYTES", "printable", "read_bounded", "write_atomic"]

FILE_SIZE_LIMIT_BYTES = 16 * 1024 * 1024


def read_bounded(path: Path, *, limit_bytes: int = FILE_SIZE_LIMIT_BYTES) -> bytes:
    """Read a regular file of at most `limit_bytes`.

    A FIFO or a device at the path is refused instead of being waited for.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger (`EFBIG`).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - the descriptor is already open
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes} bytes", str(path))
    return data


def write_atomic(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file so that a reader sees the old content or the new, never a part.

    With `durable` it is on the disk when this returns.

    Raises:
        OSError: the file cannot be written; the old one is left as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def printable(text: str | os.PathLike[str]) -> str:
    """Return operating-system text as text that every encoder takes.

    Bytes that are not UTF-8 (possible in file names and arguments) become U+FFFD.
    """
    return os.fsencode(text).decode("utf-8", "replace")
