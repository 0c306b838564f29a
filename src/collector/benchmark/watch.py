"""Noticing that a command wrote to its inputs: they are links to the user's own files."""

import logging
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from collector.executors import StagedInput

__all__ = ["InputWatch"]

_LOG = logging.getLogger(__name__)
_State: TypeAlias = tuple[int, int, int]


class InputWatch:
    """Compares staged files with what they were when the watch began.

    What counts is size, time of modification and inode. Only regular files are compared: what
    changes in or below a staged directory goes unnoticed.
    """

    def __init__(self, inputs: Iterable[StagedInput]) -> None:
        states = {item.source: _state_of(item.source) for item in inputs}
        self._before = {path: state for path, state in states.items() if state is not None}

    def report(self, repeat: int) -> None:
        """Warn of each file that is not as before, the first time only.

        Args:
            repeat: the repeat that has ended since the last call, from 1.
        """
        for path in [path for path, state in self._before.items() if _state_of(path) != state]:
            del self._before[path]
            _LOG.warning(
                "%s changed while repeat %d ran, so the repeats are not independent: inputs are"
                " links to your own files; name it with --emit if the command makes it, so that it"
                " is not staged, or give the command a copy",
                path,
                repeat,
            )


def _state_of(path: Path) -> _State | None:
    """Return what tells one state of a regular file from another; `None` where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - one call, which Path spreads over several
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ino)
