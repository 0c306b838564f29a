"""Directory trees in, records out: the walk, each of whose steps may hang or fail."""

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from collector.collect.assembly import collect_listed, identify
from collector.collect.directories import Listing, list_or_log, separate_roots
from collector.collect.options import CollectOptions
from collector.collect.patience import Work, work_through
from collector.record import TraceRecord, record_order

__all__ = ["collect_directories", "stream_directories"]

_LOG = logging.getLogger(__name__)
_Works: TypeAlias = Iterator[Work[TraceRecord]]


def collect_directories(
    roots: Iterable[Path], options: CollectOptions | None = None
) -> list[TraceRecord]:
    """Make one record of each task directory at and below the given directories.

    The order is that of the task ids which are numbers, by value; the others come after them. Equal
    ids, as those of several runs, are in the order of the paths that the records state, then of the
    real paths. It does not depend on the order in which directories are named or listed.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    # Sorting keeps the order of equals.
    return sorted(stream_directories(roots, options), key=record_order)


def stream_directories(
    roots: Iterable[Path], options: CollectOptions | None = None
) -> Iterator[TraceRecord]:
    """Make the same records, one at a time, in the order of the real paths.

    A directory that takes longer than `options.patience_s` costs only what was to be read of it.

    Raises:
        CollectFailed: a root does not exist or is not a directory; before the first record.
    """
    options = options or CollectOptions()
    first = (_Visit(root, options) for root in separate_roots(roots))
    yield from work_through(first, patience_s=options.patience_s)


@dataclass(frozen=True, slots=True)
class _Visit:
    """Lists a directory."""

    path: str
    options: CollectOptions

    def do(self) -> tuple[TraceRecord | None, _Works]:
        listing = list_or_log(self.path)
        return None, iter(()) if listing is None else self._following(listing)

    def give_up(self) -> TraceRecord | None:
        _LOG.warning("%s: listing it takes too long; left out", self.path)
        record = identify(self.path)
        return None if record["hash"] is None else record  # a task's, by its path

    def _following(self, listing: Listing) -> _Works:
        if listing.is_task:
            yield _Collect(listing, self.options)
        for name in listing.below:
            yield _Visit(os.path.join(listing.path, name), self.options)  # noqa: PTH118


@dataclass(frozen=True, slots=True)
class _Collect:
    """Reads the files of a task directory."""

    listing: Listing
    options: CollectOptions

    def do(self) -> tuple[TraceRecord | None, _Works]:
        return collect_listed(self.listing, self.options), iter(())

    def give_up(self) -> TraceRecord:
        _LOG.warning("%s: reading it takes too long; the record is incomplete", self.listing.path)
        return identify(self.listing.path)
