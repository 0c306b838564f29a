"""Memory in use: its truth, and what polls see of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

from oracle.scenario import MIB, Device, Scenario
from oracle.series import Series
from oracle.window import Window

__all__ = ["Memory", "folded_memory", "memory", "process_peak_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes. `moves`: it changes at all; `jumps`: how far in steps, up and down together."""

    total: int
    mean: int
    peak: int
    polled_mean: int
    polled_peak: int
    moves: bool
    jumps: int

    @property
    def mean_mib(self) -> int:
        """Whole MiB of the integer mean of bytes."""
        return self.mean >> 20

    @property
    def mean_pct(self) -> Fraction:
        """Percent of the total, of the integer mean of bytes."""
        return Fraction(100 * self.mean, self.total)

    @property
    def peak_mib(self) -> int:
        """Whole MiB."""
        return self.peak >> 20

    @property
    def peak_pct(self) -> Fraction:
        """Percent of the total, of the whole MiB of the peak."""
        return Fraction(100 * (self.peak_mib << 20), self.total)


def shown_mib(scenario: Scenario, device: Device) -> Series:
    """Give what the driver shows as used, from time 0 on."""
    reserved = 0 if scenario.memory_v2 else Fraction(device.reserved_bytes, MIB)
    used = device.over_time("mem")
    first = used.points[0][0] if used.points else Fraction(0)
    nothing_yet = ((Fraction(0), Fraction(0)), (first, Fraction(0)))
    points = tuple((t, mib + reserved) for t, mib in (*nothing_yet, *used.points))
    return Series(points, used.linear)


def memory(scenario: Scenario, device: Device, window: Window, interval: Fraction) -> Memory:
    """Compute the figures of one device over the time in which it answers."""
    shown = shown_mib(scenario, device)
    polled = [floor(shown.at(t) * MIB) for t in window.polls(interval)]
    return Memory(
        total=device.total_bytes,
        mean=floor(shown.integral(window.start, window.end) / window.length * MIB),
        peak=floor(shown.largest(window.start, window.end) * MIB),
        polled_mean=sum(polled) // len(polled),
        polled_peak=max(polled),
        moves=shown.moves(window.start, window.end),
        jumps=floor(shown.jumps(window.start, window.end) * MIB),
    )


def total(values: Iterable[Fraction]) -> Fraction:
    """Sum."""
    return sum(values, Fraction(0))


def peak_of_sum(series: Sequence[Series], lives: Sequence[Window], window: Window) -> Fraction:
    """Give the least upper bound of the sum of the devices that answer."""
    edges = {window.start, window.end, *(life.end for life in lives)}
    for one, life in zip(series, lives, strict=True):
        edges |= {piece.start for piece in one.pieces(life.start, life.end)}
    times, best = sorted(edges), Fraction(0)
    for start, end in pairwise(times):
        # Between two edges every device is one straight piece: the sum is largest at an end.
        pieces = [
            piece
            for one, life in zip(series, lives, strict=True)
            for piece in one.pieces(start, min(end, life.end))
        ]
        best = max(best, total(p.first for p in pieces), total(p.last for p in pieces))
    return best


def folded_memory(
    scenario: Scenario,
    parts: Sequence[Memory],
    lives: Sequence[Window],
    window: Window,
    interval: Fraction,
) -> Memory:
    """Fold devices: sums; the peak is that of the simultaneous sum, of devices that answer."""
    series = [shown_mib(scenario, device) for device in scenario.devices]
    polled = [
        sum(
            floor(one.at(t) * MIB)
            for one, life in zip(series, lives, strict=True)
            if life.start <= t < life.end
        )
        for t in window.polls(interval)
    ]
    return Memory(
        total=sum(part.total for part in parts),
        mean=sum(part.mean for part in parts),
        peak=floor(peak_of_sum(series, lives, window) * MIB),
        polled_mean=sum(part.polled_mean for part in parts),
        polled_peak=max(polled),
        moves=any(part.moves for part in parts),
        jumps=sum(part.jumps for part in parts),
    )


def process_peak_bytes(device: Device, window: Window, pids: Collection[str]) -> int:
    """Give the largest sum of what the given processes held on a device at one time."""
    held = [process for process in device.processes if process.pid in pids]
    starts = {window.start, *(p.start for p in held if window.start <= p.start < window.end)}
    return max(
        sum(p.mem_bytes for p in held if p.start <= t and (p.end is None or t < p.end))
        for t in starts
    )
