"""The columns of a benchmark file. This table is the format's only copy."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from collector.record import GPU_KEYS, TraceRecord

__all__ = ["COLUMNS", "benchmark_row"]

_Column: TypeAlias = Callable[[TraceRecord, int], object]


def benchmark_row(record: TraceRecord, repeat: int) -> dict[str, object]:
    """Return one row: every column, in order, and `gpu_metrics`; `None` where nothing is known."""
    row = {name: column(record, repeat) for name, column in _COLUMNS.items()}
    return {**row, "gpu_metrics": record.gpu_metrics}


def _field(name: str) -> _Column:
    return lambda record, _: record[name]


def _gpu(key: str) -> _Column:
    return lambda record, _: (record.gpu_metrics or {}).get(key)


def _repeat(_record: TraceRecord, repeat: int) -> int:
    return repeat


def _coverage(record: TraceRecord, _repeat: int) -> object:
    return (record.probe or {}).get("coverage")


def _throttled(record: TraceRecord, _repeat: int) -> bool | None:
    reasons = [device.get("throttle_reasons") for device in _devices(record)]
    reported = [reason for reason in reasons if isinstance(reason, list)]
    return any(reported) if reported else None


def _shared(record: TraceRecord, _repeat: int) -> bool | None:
    scope = (record.probe or {}).get("scope")
    shared = scope.get("shared") if isinstance(scope, dict) else None
    return shared if isinstance(shared, bool) else None


def _uuids(record: TraceRecord, _repeat: int) -> list[str] | None:
    uuids = [device.get("uuid") for device in _devices(record)]
    return [uuid for uuid in uuids if isinstance(uuid, str)] or None


def _energy_mj(record: TraceRecord, _repeat: int) -> int | None:
    readings = [device.get("energy_mj") for device in _devices(record)]
    energies = [energy for energy in readings if isinstance(energy, int)]
    # The sum of some devices would pass for that of all.
    return sum(energies) if energies and len(energies) == len(readings) else None


def _devices(record: TraceRecord) -> list[Mapping[str, Any]]:
    devices = (record.gpu_metrics or {}).get("devices")
    if not isinstance(devices, list):
        return []
    return [device for device in devices if isinstance(device, dict)]


_BENCHMARK_FIELDS = (
    "task_id",
    "hash",
    "process",
    "tag",
    "attempt",
    "realtime",
    "%cpu",
    "peak_rss",
    "peak_vmem",
    "rchar",
    "wchar",
    "vol_ctxt",
    "inv_ctxt",
    "status",
    "exit",
)

_COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        **{name: _field(name) for name in _BENCHMARK_FIELDS},
        "repeat": _repeat,
        **{f"gpu_{key}": _gpu(key) for key in GPU_KEYS},
        "hostname": _field("hostname"),
        "native_id": _field("native_id"),
        "workdir": _field("workdir"),
        "coverage": _coverage,
        "throttled": _throttled,
        "shared": _shared,
        "gpu_uuids": _uuids,
        "gpu_energy_mj": _energy_mj,
    }
)

COLUMNS = tuple(_COLUMNS)
