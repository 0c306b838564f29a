"""Lines in the order of their records, however many: what memory should not hold goes to disk."""

import heapq
import io
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from operator import itemgetter
from typing import IO, TypeAlias

from collector.errors import SinkRejected
from collector.record import RecordOrder, TraceRecord, record_order

__all__ = ["OrderedLines"]

_Entry: TypeAlias = tuple[RecordOrder, bytes]

_RUN_BYTES = 2 * 1024 * 1024
_READ_BYTES = 16 * 1024
_order = itemgetter(0)


class OrderedLines(AbstractContextManager["OrderedLines"], Iterable[bytes]):
    """Takes lines in any order and gives them back by `record_order`; equals as they came.

    Some 2 MiB of lines are held in memory. The others are in one nameless temporary file, in sorted
    runs, until the end of the `with` statement.
    """

    def __init__(self, *, run_bytes: int = _RUN_BYTES) -> None:
        self._run_bytes = run_bytes
        self._held: list[_Entry] = []
        self._held_bytes = 0
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, int]] = []
        self._count = 0

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return self._count

    def add(self, record: TraceRecord, line: bytes) -> None:
        """Take the line of a record.

        Raises:
            SinkRejected: the temporary file cannot be written, as when a disk is full.
        """
        self._held.append((record_order(record), line))
        self._held_bytes += len(line)
        self._count += 1
        if self._held_bytes >= self._run_bytes:
            try:
                self._spill()
            except OSError as error:
                reason = error.strerror or error
                raise SinkRejected(
                    f"{tempfile.gettempdir()}: no room to sort the records: {reason}; set TMPDIR"
                ) from error

    def __iter__(self) -> Iterator[bytes]:
        self._held.sort(key=_order)
        if self._file is None:
            return (line for _, line in self._held)
        runs = [_entries(self._file.fileno(), *run) for run in self._runs]
        merged = heapq.merge(*runs, iter(self._held), key=_order)  # stable, as sorting is
        return (line for _, line in merged)

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._held.sort(key=_order)
        start = self._file.tell()
        for entry in self._held:
            pickle.dump(entry, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self._file.flush()
        self._runs.append((start, self._file.tell()))
        self._held, self._held_bytes = [], 0


def _entries(descriptor: int, start: int, end: int) -> Iterator[_Entry]:
    run = io.BufferedReader(_Run(descriptor, start, end), _READ_BYTES)
    while run.peek(1):
        yield pickle.load(run)  # written by this process into a file without a name


class _Run(io.RawIOBase):
    """A part of a file, read at a place of its own."""

    def __init__(self, descriptor: int, start: int, end: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._at = start
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), self._end - self._at)
        count = os.preadv(self._descriptor, [memoryview(buffer)[:wanted]], self._at)
        self._at += count
        return count
