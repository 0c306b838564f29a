"""The proc and cgroup blocks as record fields.

The mapping is Nextflow's (`TaskHandler.applyFusionMetrics`) with four deliberate differences: a
key that is absent stays unknown instead of becoming 0; the KiB figures of proc are converted to
bytes; without a memory limit `%mem` is the share of the host's RAM; and the memory of a control
group that the trace says is shared is not taken for the task's.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from collector.record import FieldValue
from collector.trace.fusion import Trace
from collector.trace.numbers import COUNTERS, bytes_of_kib, counter
from collector.units import percent_from_tenths, percent_of

__all__ = ["metrics_of"]

_Reading: TypeAlias = Callable[[str], int | None]

_MEMORY_FROM_CGROUP = {
    "vmem": "memory_current",
    "rss": "memory_rss",
    "peak_vmem": "memory_peak",
    "peak_rss": "memory_peak_rss",
}


def metrics_of(trace: Trace) -> dict[str, FieldValue]:
    """Return the record fields that the trace's proc and cgroup blocks tell; only known ones."""
    unavailable = trace.unavailable
    proc = _readings("proc", trace.proc, unavailable)
    cgroup = _readings("cgroup", trace.cgroup, unavailable)
    fields: dict[str, FieldValue] = {key: proc(key) for key in ("realtime", *COUNTERS)}
    fields["%cpu"] = _percent(proc("pct_cpu"))
    fields["cpu_model"] = _cpu_model(trace.proc)
    if trace.cgroup and not trace.cgroup_is_shared:
        fields |= {field: cgroup(key) for field, key in _MEMORY_FROM_CGROUP.items()}
        fields["%mem"] = _memory_percent(proc, cgroup)
    else:
        fields |= {field: bytes_of_kib(proc(field)) for field in _MEMORY_FROM_CGROUP}
        fields["%mem"] = _percent(proc("pct_mem"))
    return {field: value for field, value in fields.items() if value is not None}


def _readings(
    block_name: str, block: Mapping[str, Any] | None, unavailable: frozenset[str]
) -> _Reading:
    def read(key: str) -> int | None:
        if block is None or f"{block_name}.{key}" in unavailable:
            return None
        return counter(block.get(key))

    return read


def _memory_percent(proc: _Reading, cgroup: _Reading) -> float | None:
    """Return the peak as percent of the group's limit; of the host's RAM where there is no limit.

    The peak is used because the last `memory_rss` may be read when the task has already ended.
    """
    limit = cgroup("memory_limit")
    if not limit:
        return _percent(proc("pct_mem"))
    peak = cgroup("memory_peak_rss")
    return None if peak is None else percent_of(peak, limit)


def _percent(tenths: int | None) -> float | None:
    return None if tenths is None else percent_from_tenths(tenths)


def _cpu_model(proc: Mapping[str, Any] | None) -> str | None:
    name = (proc or {}).get("cpu_name")
    return name if isinstance(name, str) else None
