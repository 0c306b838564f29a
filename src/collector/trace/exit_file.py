"""`.exitcode`: the exit status of a task that has ended; its existence is completion."""

from pathlib import Path

from collector.files import StrPath, read_bounded, write_atomic

__all__ = ["EXIT_FILE", "read_exit_status", "write_exit_status"]

EXIT_FILE = Path(".exitcode")
_LIMIT_BYTES = 64
_INT32_LIMIT = 2**31


def read_exit_status(path: StrPath) -> int | None:
    """Read the number in a `.exitcode`; `None` where there is no file.

    Raises:
        OSError: the file exists but cannot be read.
        ValueError: the file does not hold a number of 32 bits, as when a disk was full.
    """
    try:
        text = read_bounded(path, limit_bytes=_LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    status = int(text)
    if not -_INT32_LIMIT <= status < _INT32_LIMIT:
        raise ValueError(f"{status} is no exit status")
    return status


def write_exit_status(path: Path, exit_status: int) -> None:
    """Write a `.exitcode` atomically.

    Raises:
        OSError: it cannot be written.
    """
    write_atomic(path, f"{exit_status}\n".encode())
