"""The run-level metrics: twelve series per process, as Nextflow's resource report computes them."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

__all__ = ["SERIES", "RunMetrics", "quantile", "series_values", "summarize"]

SERIES = (
    "cpu",
    "mem",
    "vmem",
    "time",
    "reads",
    "writes",
    "cpuUsage",
    "memUsage",
    "timeUsage",
    "gpuUsage",
    "gpuMemPeak",
    "gpuMemAvg",
)
_CENT = Decimal("0.01")
_UNKNOWN = math.nan
_LARGEST = 2.0**63  # what a count can be; beyond 28 digits nothing can be rounded either


def series_values(task: Mapping[str, Any]) -> tuple[float | None, ...]:
    """Return what one task object adds to each of the series; `None` where it adds nothing.

    Percent of a CPU, bytes, ms, bytes, percent of what was requested; of GPUs: `pct` in percent,
    `peak_mem_used` and `avg_mem` in MiB.
    """
    gpu = task.get("gpuMetrics") or {}
    cpu, peak_rss, realtime = task.get("pcpu"), task.get("peakRss"), task.get("realtime")
    return (
        cpu,
        peak_rss,
        task.get("peakVmem"),
        realtime,
        task.get("rchar"),
        task.get("wchar"),
        cpu / (task.get("cpus") or 1) if cpu else None,
        _percent(peak_rss, task.get("memory")),
        _percent(realtime, task.get("time")),
        gpu.get("pct"),
        gpu.get("peak_mem_used"),
        gpu.get("avg_mem"),
    )


@dataclass(slots=True)
class _Process:
    names: list[str] = field(default_factory=list)
    columns: list["array[float]"] = field(default_factory=lambda: [array("d") for _ in SERIES])


class RunMetrics:
    """The values of all ended tasks, by process: a hundred bytes a task."""

    def __init__(self) -> None:
        self._processes: dict[str, _Process] = {}

    def add(self, process: str, name: str, values: Iterable[float | None]) -> None:
        """Add an ended task; its process is the text after the last colon.

        A figure that nothing can have, such as 1e300 percent, counts as not known.
        """
        group = self._processes.setdefault(process.rpartition(":")[2], _Process())
        group.names.append(name)
        for column, value in zip(group.columns, values, strict=True):
            column.append(value if value is not None and abs(value) <= _LARGEST else _UNKNOWN)

    def summary(self) -> list[dict[str, Any]]:
        """Return `complete.metrics`: an object a process, in the order of first sight."""
        return [
            {"process": process, **_series_of(group)} for process, group in self._processes.items()
        ]


def summarize(values: Sequence[float], names: Sequence[str]) -> dict[str, Any] | None:
    """Return the mean, the quartiles and the tasks that they are of; `None` if all are 0 or none.

    Numbers are rounded half up to two decimals. A quartile between two tasks bears the name of the
    lower one.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    if not order or values[order[0]] == values[order[-1]] == 0:
        return None
    ascending = [values[index] for index in order]
    quartiles = {"min": 0, "q1": 25, "q2": 50, "q3": 75, "max": 100}
    numbers = {key: _rounded(quantile(ascending, percent)) for key, percent in quartiles.items()}
    labels = {
        f"{key}Label": names[order[(len(order) - 1) * quartiles[key] // 100]]
        for key in ("min", "max", "q1", "q2", "q3")
    }
    return {"mean": _rounded(math.fsum(ascending) / len(ascending)), **numbers, **labels}


def quantile(ascending: Sequence[float], percent: int) -> float:
    """Return a quantile of sorted values, linear between neighbours."""
    floor, hundredths = divmod((len(ascending) - 1) * percent, 100)
    if not hundredths:
        return ascending[floor]
    low, high = ascending[floor], ascending[floor + 1]
    return low + (high - low) * hundredths / 100


def _series_of(group: _Process) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for series, column in zip(SERIES, group.columns, strict=True):
        known = [index for index, value in enumerate(column) if not math.isnan(value)]
        described = summarize(
            [column[index] for index in known], [group.names[index] for index in known]
        )
        if described is not None:
            found[series] = described
    return found


def _percent(part: float | None, whole: float | None) -> float | None:
    return part / whole * 100 if part and whole else None


def _rounded(value: float) -> float:
    return float(Decimal(repr(value)).quantize(_CENT, rounding=ROUND_HALF_UP))
