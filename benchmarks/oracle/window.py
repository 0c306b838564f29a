"""The time of a task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

__all__ = ["Interval", "Window", "united"]

Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Window:
    """When the task ran: [start, end), in seconds of the scenario, not before its time 0."""

    start: Fraction
    end: Fraction

    @property
    def length(self) -> Fraction:
        """Seconds."""
        return self.end - self.start

    def until(self, t: Fraction | None) -> Window:
        """Give the part before t; all of it for None."""
        return self if t is None else Window(self.start, max(self.start, min(self.end, t)))

    def polls(self, interval: Fraction) -> list[Fraction]:
        """Give the times of polls that begin with the window, one interval apart."""
        return [self.start + i * interval for i in range(ceil(self.length / interval))]


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that touch or overlap."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
