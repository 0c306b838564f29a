"""The loads of known truth, and what is demanded of the figures that gpu-probe gives for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["BELOW", "COUNTERS", "LOADS", "Finding", "Load", "Outcome"]

COUNTERS = ("rchar", "wchar", "syscr", "syscw")
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is demanded of a figure; holds(truth, ours) judges it."""

    words: str
    holds: Callable[[float, float], bool]


EXACT = Demand(words="exact", holds=lambda truth, ours: truth == ours)
PERCENT = Demand(words="1 %", holds=lambda truth, ours: abs(ours - truth) <= truth / 100)
BELOW = Demand(words="below", holds=lambda truth, ours: 0 < ours < truth)
SHOWN = Demand(words="-", holds=lambda _truth, _ours: True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One figure beside its truth, both in the unit."""

    figure: str
    truth: float
    ours: float
    demand: Demand
    unit: str = ""

    @property
    def missed(self) -> bool:
        """Tell whether the demand is not met."""
        return not self.demand.holds(self.truth, self.ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a load said of itself, what its trace says, and the bytes and calls of a bare run."""

    truth: Mapping[str, int]
    trace: Mapping[str, Any]
    bare: Mapping[str, int]

    def cpu(self, demand: Demand = PERCENT) -> Finding:
        """Compare CPU time, which the trace has as a share of the wall time."""
        proc = self.trace["proc"]
        ours = proc["pct_cpu"] * proc["realtime"] / 1000
        truth = self.truth["cpu_usec"] / 1000
        return Finding(figure="CPU", truth=truth, ours=ours, demand=demand, unit="ms")

    def peak(self, mib: int, demand: Demand = PERCENT) -> Finding:
        """Compare the peak of the tree."""
        ours = self.trace["proc"]["peak_rss"] / 1024
        return Finding(figure="`peak_rss`", truth=mib, ours=ours, demand=demand, unit="MiB")

    def group(self, key: str, truth: float, scale: int, demand: Demand, unit: str) -> Finding:
        """Compare a figure of the task's own control group."""
        ours = self.trace["cgroup"][key] / scale
        return Finding(figure=f"`cgroup.{key}`", truth=truth, ours=ours, demand=demand, unit=unit)

    def group_peak(self, mib: int, key: str = "memory_peak") -> Finding:
        """Compare a peak of the task's own control group."""
        return self.group(key, mib, MIB, PERCENT, "MiB")

    def group_cpu(self) -> Finding:
        """Compare the CPU time of the task's own control group."""
        truth = self.truth["cpu_usec"] / 1000
        return self.group("cpu_usage_usec", truth, 1000, PERCENT, "ms")

    def counts(self) -> Iterator[Finding]:
        """Compare bytes and calls with the bare run."""
        for key in COUNTERS:
            ours = self.trace["proc"][key]
            yield Finding(figure=f"`{key}`", truth=self.bare[key], ours=ours, demand=EXACT)

    def switches(self) -> Iterator[Finding]:
        """Compare context switches."""
        for key in ("vol_ctxt", "inv_ctxt"):
            ours = self.trace["proc"][key]
            yield Finding(figure=f"`{key}`", truth=self.truth[key], ours=ours, demand=EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Arguments of truth, and what to compare by default and in a control group of its own.

    Where the load cannot know what happens to it after it has looked for the last time, a run that
    misses is repeated, and the last of so many tries counts.
    """

    title: str
    words: tuple[str, ...]
    default: Callable[[Outcome], list[Finding]]
    own: Callable[[Outcome], list[Finding]] = lambda _outcome: []
    tries: int = 1


LOADS = (
    Load(
        title="1.0 CPU-s in 1000 short grandchildren",
        words=("cpu", "1000", "1000"),
        default=lambda o: [o.cpu()],
        own=lambda o: [o.cpu(), o.group_cpu()],
    ),
    Load(
        title="800 MiB for 50 ms in a grandchild",
        words=("spike", "800", "50"),
        default=lambda o: [o.peak(800)],
        own=lambda o: [o.group_peak(800)],
    ),
    Load(
        title="2 siblings of 400 MiB, both for 1.2 s",
        words=("siblings", "400", "1200", "0"),
        default=lambda o: [o.peak(800)],
        own=lambda o: [o.group_peak(800)],
    ),
    Load(
        title="2 siblings of 100 MiB, both for 50 ms, between two samples",
        words=("siblings", "100", "50", "520"),
        default=lambda o: [o.peak(200, SHOWN)],
        own=lambda o: [o.group_peak(200)],
    ),
    Load(
        title="100 MiB written and read by 200 children",
        words=("io", "file", "100"),
        default=lambda o: [*o.counts()],
        own=lambda o: [*o.counts()],
    ),
    Load(
        title="daemon of 1 CPU-s and 300 MiB that ends first",
        words=("daemon", "1000", "300", "ends"),
        default=lambda o: [o.cpu(), o.peak(300)],
        own=lambda o: [o.group_cpu(), o.group_peak(300, "memory_peak_rss")],
    ),
    Load(
        title="daemon of 2 CPU-s and 300 MiB that stays",
        words=("daemon", "2000", "300", "stays"),
        default=lambda o: [o.cpu(), o.peak(300)],
        own=lambda o: [o.group_cpu(), o.group_peak(300, "memory_peak_rss")],
    ),
    Load(
        title="4 threads of 200 sleeps each",
        words=("switches", "4", "200"),
        default=lambda o: [*o.switches()],
        own=lambda o: [*o.switches()],
        tries=3,  # it may lose the CPU once more between its last look and its end
    ),
    Load(
        title="1 GiB shared with 4 forked readers",
        words=("readers", "1024", "4", "1200"),
        default=lambda o: [o.peak(1024, SHOWN)],
        own=lambda o: [o.group_peak(1024, "memory_peak_rss")],
    ),
)
