"""Directory trees in, records out: the walk, each of whose steps may hang or fail."""

import logging
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from collector.collect.assembly import collect_listed
from collector.collect.copies import Copies
from collector.collect.directories import Listing, is_trace_file, list_or_log, separate_roots
from collector.collect.identity import identify
from collector.collect.object_store import is_url, stream_store
from collector.collect.options import CollectOptions
from collector.collect.patience import Work, work_through
from collector.files import StrPath
from collector.record import TraceRecord, record_order
from collector.trace import NextflowTrace

__all__ = ["Reading", "collect_directories", "stream_directories", "walk"]

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


def collect_directories(
    roots: Iterable[StrPath], options: CollectOptions | None = None
) -> list[TraceRecord]:
    """Make one record of each task directory, and of each copy of a trace, at and below the roots.

    A root is a directory, a URL, or such a copy itself. A copy of a trace that a task directory
    holds is no task of its own.

    The order is that of the task ids which are numbers, by value; the others come after them. Equal
    ids, as those of several runs, are in the order of the paths that the records state, then of the
    real paths. It does not depend on the order in which directories are named or listed.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    # Sorting keeps the order of equals.
    return sorted(stream_directories(roots, options), key=record_order)


def stream_directories(
    roots: Iterable[StrPath], options: CollectOptions | None = None
) -> Iterator[TraceRecord]:
    """Make the same records, one at a time: of real paths in their order, of URLs, of copies.

    A directory that takes longer than `options.patience_s` costs only what was to be read of it.

    Raises:
        CollectFailed: a root does not exist or is not a directory; before the first record.
    """
    chosen = options or CollectOptions()
    named = list(roots)
    local = [Path(root) for root in named if not is_url(root)]
    copies = Copies(map(str, filter(is_trace_file, local)))
    reading = Reading(
        read=lambda listing: collect_listed(listing, chosen),
        give_up=_stand_in,
        patience_s=chosen.patience_s,
        found_copies=copies.add,
    )
    directories = walk([root for root in local if not is_trace_file(root)], reading)
    remote = (stream_store(str(url), chosen) for url in named if is_url(url))
    held = copies.watch(chain(directories, chain.from_iterable(remote)))
    records = chain(held, copies.records(chosen))
    run = chosen.nextflow_trace
    yield from records if run is None else _joined(records, run)


def _stand_in(path: str, *, is_task: bool) -> list[TraceRecord]:
    """Make the record of a directory that hangs: of a task's, which its path may tell too."""
    record = identify(path)
    return [record] if is_task or record["hash"] is not None else []


def _joined(records: Iterator[TraceRecord], run: NextflowTrace) -> Iterator[TraceRecord]:
    """Add the tasks of a Nextflow run whose directories are not there any more."""
    found = set()
    for record in records:
        found.add(record["hash"])
        yield record
    for task_hash in run:
        if task_hash not in found:
            _LOG.debug("%s: only trace.txt tells of this task", task_hash)
            yield TraceRecord(run.fields_of(task_hash))


class GiveUp(Protocol[Result_co]):
    """What a walk does about a directory that hangs."""

    def __call__(self, path: str, *, is_task: bool) -> Sequence[Result_co]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[Result]):
    """How a walk reads task directories.

    Attributes:
        read: makes the results of a task directory.
        give_up: makes what stands for them where a directory hangs, from its path and whether it
            is known to be a task's.
        patience_s: how long to wait for one directory.
        skip: paths not to look at.
        found_copies: is told the paths of copies of traces.
    """

    read: Callable[[Listing], Sequence[Result]]
    give_up: GiveUp[Result]
    patience_s: float
    skip: Container[str] = ()
    found_copies: Callable[[list[str]], object] = id


def walk(roots: Iterable[Path], reading: Reading[Result]) -> Iterator[Result]:
    """Read every task directory at and below the given directories.

    Raises:
        CollectFailed: a root does not exist or is not a directory; before the first result.
    """
    first = (_Visit(root, reading) for root in separate_roots(roots))
    return work_through(first, patience_s=reading.patience_s)


@dataclass(frozen=True, slots=True)
class _Visit(Generic[Result]):
    """Lists a directory."""

    path: str
    reading: Reading[Result]

    def do(self) -> tuple[Sequence[Result], Iterator[Work[Result]]]:
        listing = list_or_log(self.path)
        if listing is None:
            return [], iter(())
        if copies := listing.copies:
            self.reading.found_copies(copies)
        return [], self._following(listing)

    def give_up(self) -> Sequence[Result]:
        _LOG.warning("%s: listing it takes too long; left out", self.path)
        return self.reading.give_up(self.path, is_task=False)

    def _following(self, listing: Listing) -> Iterator[Work[Result]]:
        if listing.is_task:
            yield _Read(listing, self.reading)
        for name in listing.below:
            path = os.path.join(listing.path, name)  # noqa: PTH118 - Path is slow
            if path not in self.reading.skip:
                yield _Visit(path, self.reading)


@dataclass(frozen=True, slots=True)
class _Read(Generic[Result]):
    """Reads the files of a task directory."""

    listing: Listing
    reading: Reading[Result]

    def do(self) -> tuple[Sequence[Result], Iterator[Work[Result]]]:
        return self.reading.read(self.listing), iter(())

    def give_up(self) -> Sequence[Result]:
        _LOG.warning("%s: reading it takes too long; the record is incomplete", self.listing.path)
        return self.reading.give_up(self.listing.path, is_task=True)
