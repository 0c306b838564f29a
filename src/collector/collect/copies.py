"""Copies of traces, which stand for tasks whose directories are elsewhere."""

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from collector.collect.assembly import collect_copy
from collector.collect.options import CollectOptions
from collector.collect.patience import Work, work_through
from collector.collect.traces import read_copy
from collector.record import TraceRecord
from collector.trace import Trace

__all__ = ["Copies"]

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_KEPT_DIGITS = 16


class Copies:
    """The copies that a walk came by, and which runs have a record already.

    Of a run, eight bytes are remembered: half of a random number, for there may be many runs.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = list(paths)
        self._runs = array("Q")

    def add(self, paths: Iterable[str]) -> None:
        """Take paths of copies."""
        self._paths.extend(paths)

    def watch(self, records: Iterable[TraceRecord]) -> Iterator[TraceRecord]:
        """Pass records on, and remember whose they are."""
        for record in records:
            run_id = (record.probe or {}).get("run_id")
            if isinstance(run_id, str) and _RUN_ID.fullmatch(run_id):
                self._runs.append(int(run_id[-_KEPT_DIGITS:], 16))
            yield record

    def records(self, options: CollectOptions) -> Iterator[TraceRecord]:
        """Yield a record of each copy whose run has none yet, in the order of their real paths."""
        if options.fusion == "off" or not self._paths:
            return
        seen: set[object] = set(self._runs)
        paths = sorted({os.path.realpath(path): path for path in self._paths}.items())
        reads: Iterator[Work[Trace]] = (_Read(path) for _, path in paths)
        for trace in work_through(reads, patience_s=options.patience_s):
            run_id = trace.text("run_id")
            known = run_id is not None and _RUN_ID.fullmatch(run_id) is not None
            key = int(run_id[-_KEPT_DIGITS:], 16) if run_id is not None and known else run_id
            if key not in seen:
                seen.add(key)
                yield collect_copy(trace, options)


@dataclass(frozen=True, slots=True)
class _Read:
    """Reads a copy."""

    path: str

    def do(self) -> tuple[Sequence[Trace], Iterator[Work[Trace]]]:
        trace = read_copy(self.path)
        return [] if trace is None else [trace], iter(())

    def give_up(self) -> Sequence[Trace]:
        return []
