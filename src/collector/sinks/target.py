"""The file that a sink writes: checked early, replaced late."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from collector.errors import SinkRejected
from collector.files import write_atomic

__all__ = ["check_target", "write_target"]


def check_target(path: Path) -> None:
    """Check, before any work is done, that a file can be written.

    A link to a regular file, or to one that does not exist yet, is as good as that file.

    Raises:
        SinkRejected: its directory does not exist or is not writable, or it is there already and no
            regular file: a directory, a FIFO, a device.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - the errors, which Path's tests hide
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:
        raise SinkRejected(f"{path}: cannot be looked at: {error.strerror or error}") from error
    if mode is not None and stat.S_ISDIR(mode):
        raise SinkRejected(f"{path} is a directory; name a file")
    if mode is not None and not stat.S_ISREG(mode):
        raise SinkRejected(f"{path} is not a regular file; name one, or a new one")
    directory = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not directory.is_dir():
        raise SinkRejected(f"{path}: the directory {directory} does not exist; create it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise SinkRejected(f"{path}: the directory {directory} is not writable")


def write_target(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace a file atomically; where the path is a link, the file that it leads to.

    Raises:
        SinkRejected: the file cannot be written.
    """
    try:
        write_atomic(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise SinkRejected(f"{path}: cannot be written: {error.strerror or error}") from error
