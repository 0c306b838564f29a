"""Hold what the readers say against the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from accuracy_cases import Case
from accuracy_run import Outcome
from oracle import Figures, Scenario, Utilization, Window, truth_of

__all__ = ["UNITS", "Row", "rows_of"]

MIB = 1 << 20
UNITS = {
    "pct": "%",
    "peak": "%",
    "active_time": "ms",
    "avg_mem_bw_util": "%",
    "peak_mem_bw_util": "%",
    "avg_mem": "MiB",
    "pct_mem": "%",
    "peak_mem_used": "MiB",
    "peak_mem": "%",
    "energy_mj": "mJ",
}
POLL_LATE = 1.2  # a poll that is due each second comes this much late at worst
COUNTER_S = 0.3  # the energy counter moves each 100 ms, and is read soon after start and end


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of one scenario; None: not given."""

    scenario: str
    metric: str
    truth: float
    ours: float | None
    peers: Mapping[str, float | None]
    unit: str
    demand: str
    missed: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A true figure, and how far ours may be off; None: it is not judged."""

    metric: str
    truth: float
    tolerance: float | None


def mean_tolerance(gpu: Utilization, case: Case, window: Window) -> float:
    """Give the percentage points by which a mean may be off.

    Without a ring, a mean is one of independent readings: four standard errors. The intervals
    between them are spread evenly over half to one and a half: their weights add 1/12.
    """
    if case.ring:
        return 1.0
    return 1.0 + 4 * sqrt(float(gpu.variance) * (1 + 1 / 12) / float(window.length))


def memory_claims(figures: Figures, window: Window) -> Iterator[Claim]:
    """Exact where nothing moves; else 1 pp, and a step may be seen half a second off."""
    memory = figures.memory
    unseen = float(memory.jumps / memory.total / window.length) / 2 * POLL_LATE
    pp = 1 + 100 * unseen if memory.moves else 0
    yield Claim("avg_mem", memory.mean_mib, pp / 100 * memory.total / MIB)
    yield Claim("pct_mem", float(memory.mean_pct), pp)
    yield Claim("peak_mem_used", memory.peak_mib, 0)
    yield Claim("peak_mem", float(memory.peak_pct), 0)


def claims_of(figures: Figures, case: Case, scenario: Scenario, window: Window) -> Iterator[Claim]:
    """Give what holds of the task, all devices as one."""
    gpu, controller = figures.gpu, figures.controller
    yield Claim("pct", float(gpu.mean), mean_tolerance(gpu, case, window))
    yield Claim("peak", gpu.peak or 0, 0 if case.ring else None)
    # The period that is still open at the end is not known yet.
    period_ms = 1000 * float(scenario.period)
    yield Claim("active_time", 1000 * float(gpu.busy_s), period_ms + 20 if case.ring else None)
    if controller.mean > 0:
        tolerance = mean_tolerance(controller, case, window)
        yield Claim("avg_mem_bw_util", float(controller.mean), tolerance)
        yield Claim("peak_mem_bw_util", controller.peak or 0, 0 if case.ring else None)
    yield from memory_claims(figures, window)
    energy_tolerance = None if figures.lost else 1000 * float(figures.power_max_w) * COUNTER_S
    yield Claim("energy_mj", float(figures.energy_mj), energy_tolerance)


def device_claims(figures: Figures, case: Case, window: Window) -> Iterator[Claim]:
    """Give what holds of one of several devices."""
    yield Claim("pct", float(figures.gpu.mean), mean_tolerance(figures.gpu, case, window))
    yield Claim("peak", figures.gpu.peak or 0, 0 if case.ring else None)
    yield from memory_claims(figures, window)


def number(figures: Mapping[str, Any] | None, metric: str) -> float | None:
    """Look a figure up."""
    value = (figures or {}).get(metric)
    return value if isinstance(value, (int, float)) else None


def device(figures: Mapping[str, Any] | None, index: int) -> Mapping[str, Any]:
    """Look a device's figures up."""
    devices = (figures or {}).get("devices", [])
    found: Mapping[str, Any] = devices[index] if index < len(devices) else {}
    return found


def with_energy(gpu: Mapping[str, Any]) -> dict[str, Any]:
    """Add the devices' energy, where all of them have it."""
    energies = [one.get("energy_mj") for one in gpu.get("devices", [])]
    return {**gpu, "energy_mj": sum(energies)} if energies and None not in energies else {**gpu}


def words(claim: Claim) -> str:
    """Say what is demanded."""
    if claim.tolerance is None:
        return "-"
    if claim.tolerance == 0:
        return "exact"
    unit = UNITS[claim.metric]
    return f"{claim.tolerance:.3g} {'pp' if unit == '%' else unit}"


def row(
    case: Case,
    claim: Claim,
    prefix: str,
    ours: Mapping[str, Any],
    peers: Mapping[str, Mapping[str, Any] | None],
) -> Row:
    """Judge a figure."""
    value = number(ours, claim.metric)
    judged = claim.tolerance is not None
    missed = judged and (value is None or abs(value - claim.truth) > (claim.tolerance or 0))
    return Row(
        scenario=case.name,
        metric=prefix + claim.metric,
        truth=claim.truth,
        ours=value,
        peers={name: number(figures, claim.metric) for name, figures in peers.items()},
        unit=UNITS[claim.metric],
        demand=words(claim),
        missed=missed,
    )


def rows_of(case: Case, outcome: Outcome) -> list[Row]:
    """Give every figure of a scenario, of all devices as one and of each of several."""
    scenario, window = case.scenario(), outcome.window
    truth = truth_of(scenario, window)
    gpu = outcome.trace.get("gpu", {})
    rows = [
        row(case, claim, "", with_energy(gpu), outcome.peers)
        for claim in claims_of(truth.total, case, scenario, window)
    ]
    if len(truth.devices) > 1:
        for index, figures in enumerate(truth.devices):
            peers = {name: device(answer, index) for name, answer in outcome.peers.items()}
            rows += [
                row(case, claim, f"devices[{index}].", device(gpu, index), peers)
                for claim in device_claims(figures, case, window)
            ]
    return rows
