"""Reading files of unknown content without surprise, and writing files whole or not at all."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

__all__ = ["FILE_SIZE_LIMIT_BYTES", "StrPath", "printable", "read_bounded", "write_atomic"]

StrPath: TypeAlias = "str | os.PathLike[str]"

FILE_SIZE_LIMIT_BYTES = 16 * 1024 * 1024


def read_bounded(path: StrPath, *, limit_bytes: int = FILE_SIZE_LIMIT_BYTES) -> bytes:
    """Read a regular file of at most `limit_bytes`.

    A FIFO or a device at the path is refused instead of being waited for.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger (`EFBIG`).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        data = _read_all(descriptor, min(status.st_size, limit_bytes) + 1, limit_bytes + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes} bytes", os.fspath(path))
    return data


def _read_all(descriptor: int, asked: int, limit: int) -> bytes:
    """Read to the end, or to `limit`; a read that brings less than `asked` is taken for the end."""
    data = os.read(descriptor, asked)
    if len(data) < asked:
        return data
    parts = [data]  # the file has grown since its size was asked for
    size = len(data)
    while size < limit and (data := os.read(descriptor, limit - size)):
        parts.append(data)
        size += len(data)
    return b"".join(parts)


def write_atomic(path: Path, data: bytes | Iterable[bytes], *, durable: bool = False) -> None:
    """Replace a file so that a reader sees the old content or the new, never a part.

    With `durable` it is on the disk when this returns.

    Raises:
        OSError: the file cannot be written; the old one is left as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def printable(text: StrPath) -> str:
    """Return operating-system text as text that every encoder takes.

    Bytes that are not UTF-8 (possible in file names and arguments) become U+FFFD.
    """
    return os.fsencode(text).decode("utf-8", "replace")
