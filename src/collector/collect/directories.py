"""Finding task directories: those that hold a file which only a task's directory holds."""

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from collector.errors import CollectFailed
from collector.trace import EXIT_FILE, TASK_FILE, TRACE_FILE

__all__ = ["find_task_directories"]

_LOG = logging.getLogger(__name__)
_TRACE_DIRECTORY = TRACE_FILE.parent.name
_MARKER_FILES = frozenset({TASK_FILE.name, ".command.sh", EXIT_FILE.name})


def find_task_directories(roots: Iterable[Path]) -> list[Path]:
    """Return the task directories at and below the given directories, each once, sorted by path.

    Links to directories are not followed (except the roots themselves). Directories that
    cannot be looked at or listed are logged and left out.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    found: dict[str, Path] = {}
    for root in roots:
        for directory in _walk(root) if _is_root(root) else ():
            found.setdefault(os.path.realpath(directory), directory)
    return sorted(found.values())


def _is_root(root: Path) -> bool:
    try:
        mode = os.stat(root).st_mode  # noqa: PTH116 - the errors, which Path's tests hide
    except (FileNotFoundError, NotADirectoryError):
        reason = "does not exist"
    except OSError as error:
        _LOG.warning("%s: cannot be looked at: %s; left out", root, error.strerror or error)
        return False
    else:
        if stat.S_ISDIR(mode):
            return True
        reason = "is not a directory"
    raise CollectFailed(f"{root} {reason}; name a work directory, or a directory above it")


def _walk(root: Path) -> Iterator[Path]:
    pending = [root]
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as entries:
                is_task, below = _look_at(entries)
        except OSError as error:
            _LOG.warning("%s: cannot be listed: %s; left out", directory, error.strerror or error)
            continue
        if is_task:
            yield directory
        pending.extend(directory / name for name in below)


def _look_at(entries: Iterable[os.DirEntry[str]]) -> tuple[bool, list[str]]:
    is_task = False
    below = []
    for entry in entries:
        if entry.name in _MARKER_FILES:
            is_task = True
        elif entry.is_dir(follow_symlinks=False):
            if entry.name == _TRACE_DIRECTORY:
                is_task = True
            else:
                below.append(entry.name)
    return is_task, below
