"""A quantity over time, made of straight pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

__all__ = ["Piece", "Series"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A straight line over [start, end): from `first` to what it comes up to, `last`."""

    start: Fraction
    end: Fraction
    first: Fraction
    last: Fraction

    def at(self, t: Fraction) -> Fraction:
        """Give the value at a time of the piece; its end included, as a limit."""
        return self.first + (self.last - self.first) * (t - self.start) / (self.end - self.start)

    def cut(self, start: Fraction, end: Fraction) -> Piece | None:
        """Give the part within [start, end), if there is one."""
        start, end = max(start, self.start), min(end, self.end)
        return Piece(start, end, self.at(start), self.at(end)) if start < end else None


@dataclass(frozen=True, slots=True)
class Series:
    """Points (time, value) in order of time.

    The value is 0 before the first point and stays at the last one's after it. Between two it is
    the first's, or, if `linear`, runs straight to the second's. Of points at one time the last
    counts from then on.
    """

    points: tuple[tuple[Fraction, Fraction], ...] = ()
    linear: bool = False

    def pieces(self, start: Fraction, end: Fraction) -> Iterator[Piece]:
        """Cover [start, end) with pieces, in order and without gaps."""
        if start >= end:
            return
        points = (
            (min(start, self.points[0][0]) if self.points else start, Fraction(0)),
            *self.points,
        )
        for i, (t, value) in enumerate(points):
            until, towards = points[i + 1] if i + 1 < len(points) else (max(end, t), value)
            slopes = self.linear and i > 0
            if t < until:
                part = Piece(t, until, value, towards if slopes else value).cut(start, end)
                if part is not None:
                    yield part

    def at(self, t: Fraction) -> Fraction:
        """Give the value at one time."""
        return next(self.pieces(t, t + 1)).first

    def integral(self, start: Fraction, end: Fraction) -> Fraction:
        """Give the area over [start, end); unit: the value's times seconds."""
        return sum(
            ((p.first + p.last) / 2 * (p.end - p.start) for p in self.pieces(start, end)),
            Fraction(0),
        )

    def largest(self, start: Fraction, end: Fraction) -> Fraction:
        """Give the least upper bound of the values over [start, end).

        Raises:
            ValueError: the interval is empty.
        """
        return max(max(p.first, p.last) for p in self.pieces(start, end))

    def jumps(self, start: Fraction, end: Fraction) -> Fraction:
        """Give how far the value steps within (start, end), up and down together."""
        steps = pairwise(self.pieces(start, end))
        return sum((abs(after.first - before.last) for before, after in steps), Fraction(0))

    def moves(self, start: Fraction, end: Fraction) -> bool:
        """Tell whether the value changes at all over [start, end)."""
        return len({value for p in self.pieces(start, end) for value in (p.first, p.last)}) > 1
