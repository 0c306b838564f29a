"""A load by itself, and as the driver publishes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from oracle.scenario import Device, Scenario
from oracle.window import Interval, Window

__all__ = ["Sample", "Utilization", "driver_samples", "folded_utilization", "utilization"]


@dataclass(frozen=True, slots=True)
class Sample:
    """An entry of the driver's ring: whole percent over [start, end)."""

    start: Fraction
    end: Fraction
    pct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """Figures of a load; means in percent.

    `peak` is of the samples that the driver had published by the end of the window; None without
    any. `variance` is that of one sample, taken at a random moment of the window.
    """

    mean: Fraction
    published_mean: Fraction
    variance: Fraction
    peak: int | None
    busy: tuple[Interval, ...]

    @property
    def busy_s(self) -> Fraction:
        """Seconds with a published value above 0."""
        return sum((end - start for start, end in self.busy), Fraction(0))


def driver_samples(
    scenario: Scenario, device: Device, kind: str, window: Window
) -> tuple[Sample, ...]:
    """Give the samples whose periods touch the window, whole."""
    load, period = device.over_time(kind), scenario.period
    ends = range(floor(window.start / period) + 1, ceil(window.end / period) + 1)
    periods = [((k - 1) * period, k * period) for k in ends]
    return tuple(Sample(a, b, floor(load.integral(a, b) / period)) for a, b in periods)


def utilization(scenario: Scenario, device: Device, kind: str, window: Window) -> Utilization:
    """Compute the figures of one device; the first and last periods are clipped to the window."""
    samples = driver_samples(scenario, device, kind, window)
    clipped = [(max(s.start, window.start), min(s.end, window.end)) for s in samples]
    weighted = [
        (s.pct, (b - a) / window.length) for s, (a, b) in zip(samples, clipped, strict=True)
    ]
    mean = sum((pct * share for pct, share in weighted), Fraction(0))
    return Utilization(
        mean=device.over_time(kind).integral(window.start, window.end) / window.length,
        published_mean=mean,
        variance=sum((share * (pct - mean) ** 2 for pct, share in weighted), Fraction(0)),
        peak=max((s.pct for s in samples if s.end <= window.end), default=None),
        busy=tuple(busy_parts(samples, clipped)),
    )


def busy_parts(samples: Sequence[Sample], clipped: Sequence[Interval]) -> list[Interval]:
    """Give the clipped periods with a value above 0."""
    return [part for sample, part in zip(samples, clipped, strict=True) if sample.pct > 0]


def folded_utilization(parts: Sequence[Utilization], busy: Sequence[Interval]) -> Utilization:
    """Fold devices: means of the means, the largest peak; `busy` is the union."""
    peaks = [part.peak for part in parts if part.peak is not None]
    return Utilization(
        mean=sum((part.mean for part in parts), Fraction(0)) / len(parts),
        published_mean=sum((part.published_mean for part in parts), Fraction(0)) / len(parts),
        variance=sum((part.variance for part in parts), Fraction(0)) / len(parts) ** 2,
        peak=max(peaks, default=None),
        busy=tuple(busy),
    )
