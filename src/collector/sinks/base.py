"""The interface of sinks."""

from collections.abc import Iterable
from typing import Protocol

from collector.record import TraceRecord

__all__ = ["Sink"]


class Sink(Protocol):
    """Takes records. A sink only transforms and delivers; it never reads a task's files."""

    def write(self, records: Iterable[TraceRecord]) -> int:
        """Deliver all the records, or none, and return how many.

        They may come in any order, and be too many for memory; a file has them in theirs.

        Raises:
            SinkRejected: they could not be delivered.
        """
        ...
