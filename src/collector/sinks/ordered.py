"""Lines in the order of their records, however many: what memory should not hold goes to disk."""

import heapq
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from operator import itemgetter
from typing import IO, TypeAlias

from collector.record import RecordOrder, TraceRecord, record_order

__all__ = ["OrderedLines"]

_Entry: TypeAlias = tuple[RecordOrder, bytes]

_RUN_BYTES = 8 * 1024 * 1024
_order = itemgetter(0)


class OrderedLines(AbstractContextManager["OrderedLines"], Iterable[bytes]):
    """Takes lines in any order and gives them back by `record_order`; equals as they came.

    About 8 MiB of lines are held in memory. The others are in temporary files, sorted, one for
    each 8 MiB, until the end of the `with` statement.
    """

    def __init__(self, *, run_bytes: int = _RUN_BYTES) -> None:
        self._run_bytes = run_bytes
        self._held: list[_Entry] = []
        self._held_bytes = 0
        self._runs: list[IO[bytes]] = []
        self._count = 0

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            run.close()

    def __len__(self) -> int:
        return self._count

    def add(self, record: TraceRecord, line: bytes) -> None:
        """Take the line of a record.

        Raises:
            OSError: the disk of temporary files is full.
        """
        self._held.append((record_order(record), line))
        self._held_bytes += len(line)
        self._count += 1
        if self._held_bytes >= self._run_bytes:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        self._held.sort(key=_order)
        runs = [*map(_entries, self._runs), iter(self._held)]
        for _, line in heapq.merge(*runs, key=_order) if self._runs else self._held:
            yield line

    def _spill(self) -> None:
        self._held.sort(key=_order)
        run = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end of the with statement
        self._runs.append(run)
        for entry in self._held:
            pickle.dump(entry, run, protocol=pickle.HIGHEST_PROTOCOL)
        self._held, self._held_bytes = [], 0


def _entries(run: IO[bytes]) -> Iterator[_Entry]:
    run.seek(0)
    while True:
        try:
            yield pickle.load(run)  # written by this process, and nameless since
        except EOFError:
            return
