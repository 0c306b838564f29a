"""One record as the task object of the Tower trace protocol; types are those of the public API."""

import logging
import math
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from typing import Any

import orjson

from collector.record import TraceRecord
from collector.units import float32

__all__ = [
    "TERMINAL",
    "camel_case",
    "gpu_metrics",
    "instant",
    "is_mock",
    "task_payload",
]

_LOG = logging.getLogger(__name__)

TERMINAL = frozenset({"COMPLETED", "FAILED", "ABORTED", "CACHED"})
_STATUSES = TERMINAL | {"NEW", "SUBMITTED", "RUNNING"}
_OPTIONAL = frozenset({"env", "script"})
_DATES = frozenset({"submit", "start", "complete"})
_INT32 = frozenset({"exit", "attempt", "cpus", "accelerator"})
_INT64 = frozenset(
    {
        "duration",
        "realtime",
        "rss",
        "vmem",
        "peak_rss",
        "peak_vmem",
        "rchar",
        "wchar",
        "syscr",
        "syscw",
        "read_bytes",
        "write_bytes",
        "memory",
        "disk",
        "time",
        "vol_ctxt",
        "inv_ctxt",
    }
)
_DOUBLE = frozenset({"%cpu", "%mem"})
_GPU_INT64 = frozenset({"active_time", "mem", "avg_mem", "peak_mem_used"})
_GPU_DOUBLE = frozenset(
    {"pct", "peak", "pct_mem", "peak_mem", "avg_mem_bw_util", "peak_mem_bw_util"}
)
_GPU_TEXT = frozenset({"name", "driver"})
_UNHELD = object()
_LARGEST_DATE_MS = 253_402_300_799_999  # the year 9999


def camel_case(name: str) -> str:
    """Return a field's name in the protocol: `peak_rss` is peakRss, `%cpu` is pcpu."""
    first, *rest = name.replace("%", "p", 1).split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def task_payload(
    record: TraceRecord, task_id: int, *, include: Collection[str] = ()
) -> dict[str, Any]:
    """Return the task object of a record, without the keys whose values are not known.

    Args:
        record: the task.
        task_id: the number that it has in its run.
        include: which of `env` and `script` are to be sent.
    """
    status = _status(record["status"])
    task: dict[str, Any] = {"taskId": task_id, "status": status}
    for name, value in record.items():
        if name in ("task_id", "status") or (name in _OPTIONAL and name not in include):
            continue
        converted = _convert(name, value)
        if converted is not None:
            task[camel_case(name)] = converted
    accelerator = {
        "acceleratorCount": task.get("accelerator"),
        "acceleratorType": task.get("acceleratorType"),
    }
    if any(value is not None for value in accelerator.values()):
        task["resourceAllocation"] = {k: v for k, v in accelerator.items() if v is not None}
    # Only the first update that ends a task counts, so the GPU's figures go with it.
    if record.gpu_metrics and status in TERMINAL:
        task["gpuMetrics"] = gpu_metrics(record.gpu_metrics)
    return task


def gpu_metrics(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole gpu block; the twelve published keys with the types that a server checks.

    Unknown keys go through as they are. A published key whose value is of another type is left
    out, because the server would refuse the whole request for it, with up to 99 other tasks.
    """
    held: dict[str, Any] = {}
    for key, value in block.items():
        kept = _gpu_value(key, value)
        if kept is _UNHELD:
            _LOG.debug("gpu.%s is %.60r, which it cannot be; it is not sent", key, value)
        else:
            held[key] = kept
    return held


def is_mock(record: TraceRecord) -> bool:
    """Whether the record's figures come from the mock driver: such a record is never sent."""
    return bool((record.probe or {}).get("mock"))


def instant(moment_ms: int) -> str:
    """Write ms since 1970 as RFC 3339 in UTC: `2014-10-06T12:03:02.622Z`, `2014-10-06T12:03:00Z`.

    Nextflow leaves `:00` seconds out, which RFC 3339 does not allow.
    """
    seconds, milliseconds = divmod(moment_ms, 1000)
    text = datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"


def _status(value: object) -> str:
    if value == "CACHED":
        # A server ignores the figures of cached tasks: it looks for those that it has itself, and
        # in a run of our own it has none.
        return "COMPLETED"
    # A directory that tells nothing of an end is of a task that was handed in, at least.
    return value if isinstance(value, str) and value in _STATUSES else "SUBMITTED"


def _convert(name: str, value: object) -> object:
    if value is None or value == "":
        return None
    if name in _DATES:
        moment = _integer(value, bits=64)
        return instant(moment) if moment and 0 < moment <= _LARGEST_DATE_MS else None
    if name in _INT32 or name in _INT64:
        return _integer(value, bits=32 if name in _INT32 else 64)
    if name in _DOUBLE:
        number = _double(value)
        return None if number is None else float32(number)
    text = str(value).encode("utf-8", "replace").decode()
    return [text] if name == "module" else text


def _gpu_value(key: str, value: object) -> object:
    """Return a value as it is sent, or `_UNHELD` for one that must not be."""
    if key in _GPU_INT64:
        kept: object = _integer(value, bits=64)
    elif key in _GPU_DOUBLE:
        kept = _double(value)
    elif key in _GPU_TEXT:
        kept = value if isinstance(value, str) else None
    else:
        return value if _can_be_encoded(value) else _UNHELD
    return _UNHELD if kept is None else kept


def _can_be_encoded(value: object) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def _integer(value: object, *, bits: int) -> int | None:
    """Return a number as an integer, rounded, or the digits of a text; `None` for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    whole = round(value)
    return whole if -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1) else None


def _double(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value
