"""Following trees of running tasks: each task once, as it completes.

Directories are looked at again and again: what tells of changes at once (inotify) is silent about
those that other nodes make on a network file system, which is where task directories live.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from collector.collect.assembly import collect_listed
from collector.collect.directories import Listing
from collector.collect.options import CollectOptions
from collector.collect.traces import was_launched
from collector.collect.tree import Reading, walk
from collector.record import FieldValue, TraceRecord
from collector.trace import EXIT_FILE

__all__ = ["TaskKey", "Watch", "task_key"]

TaskKey: TypeAlias = tuple[FieldValue, FieldValue]

_ENDED = frozenset({"COMPLETED", "FAILED", "CACHED"})
_INTERVAL_S = 1.0
_REST = 20  # looking takes at most about one twentieth of the time


def task_key(workdir: FieldValue, native_id: FieldValue) -> TaskKey:
    """Return what tells a task from others: its directory and, where jobs share one, its job."""
    return workdir, native_id


class _Seen(NamedTuple):
    """A record, and the directory that it is of."""

    record: TraceRecord
    path: str
    launched: bool
    exited: bool


@dataclass(slots=True)
class _Skips:
    """Directories not to look at: finished ones, and for some looks those that hang.

    Each time that one hangs it is left alone for twice as many looks, for a thread is lost to it.
    """

    looks: int = 0
    done: set[str] = field(default_factory=set)
    _resting: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __contains__(self, path: object) -> bool:
        if path in self.done:
            return True
        until, _ = self._resting.get(str(path), (0, 0))
        return self.looks < until

    def rest(self, path: str, *, is_task: bool) -> list[_Seen]:
        _, length = self._resting.get(path, (0, 1))
        self._resting[path] = (self.looks + 1 + length, 2 * length)
        return []


@dataclass(slots=True, kw_only=True)
class Watch:
    """A watch over directories.

    Attributes:
        roots: the directories.
        options: says how to read them; asked before each look, for a `trace.txt` grows.
        reported: the tasks that need no record any more; grows as records are given.
        until: says whether to end after one more look.
        idle_s: after how long without a new or completed task to end; `None`: never.
        pause: waits for so many seconds, or until `until` has changed its mind.
        clock: seconds, from any start.
        unfinished: how many tasks the last look found that have not completed.
    """

    roots: Iterable[Path]
    options: Callable[[], CollectOptions]
    reported: set[TaskKey] = field(default_factory=set)
    until: Callable[[], bool] = lambda: False
    idle_s: float | None = None
    pause: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic
    unfinished: int = 0
    _skips: _Skips = field(default_factory=_Skips)
    _aborted: set[TaskKey] = field(default_factory=set)

    def records(self) -> Iterator[TraceRecord]:
        """Yield the record of each task once it has completed.

        A task that a launcher started has completed when its `.exitcode` is there; with a
        `trace.txt`, when that tells of it, or at the last look. One whose writer died has, when a
        second look finds it so.

        Raises:
            CollectFailed: a root does not exist or is not a directory.
        """
        active_at_s = self.clock()
        before = (0, 0)
        while True:
            began_s = self.clock()
            idle = self.idle_s is not None and began_s - active_at_s >= self.idle_s
            last = self.until() or idle
            yield from self._look(last=last)
            if last:
                return
            found = (self.unfinished, len(self.reported))
            if found != before:
                active_at_s, before = self.clock(), found
            self.pause(max(_INTERVAL_S, (self.clock() - began_s) * _REST))

    def _look(self, *, last: bool) -> Iterator[TraceRecord]:
        options = self.options()
        reading = Reading(
            read=lambda listing: _read(listing, options),
            give_up=self._skips.rest,
            patience_s=options.patience_s,
            skip=self._skips,
        )
        self._skips.looks += 1
        self.unfinished = 0
        for seen in walk(self.roots, reading):
            key = task_key(seen.record["workdir"], seen.record["native_id"])
            new = key not in self.reported
            if new and not self._has_ended(seen, key, options, last=last):
                self.unfinished += 1
                continue
            self.reported.add(key)
            if seen.launched:
                self._skips.done.add(seen.path)  # others may yet get another job's trace
            if new:
                yield seen.record

    def _has_ended(self, seen: _Seen, key: TaskKey, options: CollectOptions, *, last: bool) -> bool:
        status, task_hash = seen.record["status"], seen.record["hash"]
        if status == "ABORTED":
            twice = key in self._aborted
            self._aborted.add(key)
            return twice
        if status not in _ENDED or (seen.launched and not seen.exited):
            return False
        run = options.nextflow_trace
        return run is None or last or (isinstance(task_hash, str) and task_hash in run)


def _read(listing: Listing, options: CollectOptions) -> list[_Seen]:
    launched, exited = was_launched(listing), EXIT_FILE.name in listing.names
    records = collect_listed(listing, options)
    return [_Seen(record, listing.path, launched, exited) for record in records]
