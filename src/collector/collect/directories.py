"""Finding task directories, by a file that only such a directory holds, and copies of traces."""

import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from collector.errors import CollectFailed
from collector.trace import EXIT_FILE, TASK_FILE, TRACE_FILE

__all__ = ["find_sources", "find_task_directories"]

_LOG = logging.getLogger(__name__)
_TRACE_DIRECTORY = TRACE_FILE.parent.name
# As --copy-to and the rescue of a trace that found no place name them.
_COPY = re.compile(r"[0-9a-f]{32}\.trace\.json")
_MARKER_FILES = frozenset({TASK_FILE.name, ".command.sh", EXIT_FILE.name})


def find_task_directories(roots: Iterable[Path]) -> list[Path]:
    """Return the task directories at and below the given directories, each once, sorted by path.

    Links to directories are not followed (except the roots themselves). Directories that
    cannot be looked at or listed are logged and left out.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    return find_sources(roots)[0]


def find_sources(roots: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return the task directories as above, and the copies of traces in the same order.

    A copy is a file that is named by its run, at or below a root, or a root that is a `.json` file.
    """
    directories: dict[str, Path] = {}
    copies: dict[str, Path] = {}
    for root in roots:
        if _is_trace_file(root):
            copies.setdefault(os.path.realpath(root), root)
            continue
        for directory, is_task, names in _walk(root) if _is_root(root) else ():
            if is_task:
                directories.setdefault(os.path.realpath(directory), directory)
            for name in names:
                copies.setdefault(os.path.realpath(directory / name), directory / name)
    return sorted(directories.values()), sorted(copies.values())


def _is_trace_file(root: Path) -> bool:
    try:
        return root.suffix == ".json" and root.is_file()
    except OSError:
        return False


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
    raise CollectFailed(f"{root} {reason}; name a work directory, one above it, or a trace")


def _walk(root: Path) -> Iterator[tuple[Path, bool, list[str]]]:
    pending = [root]
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as entries:
                is_task, copies, below = _look_at(entries)
        except OSError as error:
            _LOG.warning("%s: cannot be listed: %s; left out", directory, error.strerror or error)
            continue
        yield directory, is_task, copies
        pending.extend(directory / name for name in below)


def _look_at(entries: Iterable[os.DirEntry[str]]) -> tuple[bool, list[str], list[str]]:
    is_task = False
    copies = []
    below = []
    for entry in entries:
        if entry.name in _MARKER_FILES:
            is_task = True
        elif entry.is_dir(follow_symlinks=False):
            if entry.name == _TRACE_DIRECTORY:
                is_task = True
            else:
                below.append(entry.name)
        elif _COPY.fullmatch(entry.name):
            copies.append(entry.name)
    return is_task, copies, below
