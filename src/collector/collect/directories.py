"""Finding task directories, by a file that only such a directory holds, and copies of traces."""

import logging
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from collector.errors import CollectFailed
from collector.trace import EXIT_FILE, TASK_FILE, TRACE_FILE

__all__ = [
    "MARKER_FILES",
    "Listing",
    "find_task_directories",
    "is_trace_file",
    "list_directory",
    "list_or_log",
    "separate_roots",
]

_LOG = logging.getLogger(__name__)
_TRACE_DIRECTORY = TRACE_FILE.parent.name
# As --copy-to and the rescue of a trace that found no place name them.
_COPY = re.compile(r"[0-9a-f]{32}\.trace\.json")
MARKER_FILES = frozenset({TASK_FILE.name, ".command.sh", EXIT_FILE.name})


class Listing(NamedTuple):
    """What a directory holds: its names, and the sorted ones of directories that may hold tasks."""

    path: str
    names: frozenset[str]
    below: list[str]
    is_task: bool

    @property
    def copies(self) -> list[str]:
        """Return the paths of copies of traces, which are named by their run."""
        return [
            f"{self.path}/{name}"
            for name in self.names
            if name.endswith(".json") and _COPY.fullmatch(name)
        ]


def list_directory(path: str) -> Listing:
    """List a directory. Links to directories are not followed.

    Raises:
        OSError: it cannot be listed.
    """
    names, below, is_task = [], [], False
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            names.append(name)
            if name in MARKER_FILES:
                is_task = True
            elif entry.is_dir(follow_symlinks=False):
                if name == _TRACE_DIRECTORY:
                    is_task = True
                else:
                    below.append(name)
    below.sort()
    return Listing(path, frozenset(names), below, is_task)


def list_or_log(path: str) -> Listing | None:
    """List a directory; one that cannot be listed is logged and `None`."""
    try:
        return list_directory(path)
    except OSError as error:
        _LOG.warning("%s: cannot be listed: %s; left out", path, error.strerror or error)
        return None


def is_trace_file(root: Path) -> bool:
    """Say whether a root is a copy of a trace itself: any `.json` file."""
    try:
        return root.suffix == ".json" and root.is_file()
    except OSError:
        return False


def separate_roots(roots: Iterable[Path]) -> list[str]:
    """Return the named directories in the order of their real paths, none at or below another.

    One that cannot be looked at is logged and left out.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    real: dict[str, str] = {}
    for root in roots:
        if _is_root(root):
            real.setdefault(os.path.realpath(root), os.fspath(root))
    return [real[path] for path in sorted(real) if not _is_reached(path, real)]


def find_task_directories(roots: Iterable[Path]) -> list[Path]:
    """Return the task directories at and below the given directories, each once, sorted by path.

    Links to directories are not followed (except the roots themselves). Directories that
    cannot be looked at or listed are logged and left out.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    found = []
    pending = separate_roots(roots)
    while pending:
        listing = list_or_log(pending.pop())
        if listing is not None:
            pending.extend(os.path.join(listing.path, name) for name in listing.below)  # noqa: PTH118
            if listing.is_task:
                found.append(Path(listing.path))
    return sorted(found)


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


def _is_reached(path: str, roots: Iterable[str]) -> bool:
    """Say whether the walk from another root comes to this one."""
    parts = Path(path).parts
    for other in roots:
        above = Path(other).parts
        below = parts[len(above) :]
        if below and parts[: len(above)] == above and _TRACE_DIRECTORY not in below:
            return True
    return False
