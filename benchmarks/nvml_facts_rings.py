"""How a driver's ring of samples behaves: depth, period, order, clock, empty answers, losses."""

from __future__ import annotations

import ctypes
import itertools
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pynvml as nv

__all__ = ["drains", "ring_facts"]

KINDS = {
    "util": nv.NVML_GPU_UTILIZATION_SAMPLES,
    "memutil": nv.NVML_MEMORY_UTILIZATION_SAMPLES,
    "power": nv.NVML_TOTAL_POWER_SAMPLES,
}


def error_name(code: int) -> str:
    """Give the name of a return code."""
    return "success" if code == nv.NVML_SUCCESS else type(nv.NVMLError(code)).__name__


def ask(device: Any, kind: int, since: int, room: int) -> tuple[int, int, list[Any]]:  # noqa: ANN401
    """Call nvmlDeviceGetSamples itself, with a buffer of so many entries (0: none at all).

    Gives the return code, the count that came back, and the entries.
    """
    count = ctypes.c_uint(room)
    value_type = ctypes.c_uint()
    buffer = (nv.c_nvmlSample_t * room)() if room else None
    call = nv._nvmlGetFunctionPointer("nvmlDeviceGetSamples")
    code = call(
        device,
        ctypes.c_uint(kind),
        ctypes.c_ulonglong(since),
        ctypes.byref(value_type),
        ctypes.byref(count),
        buffer,
    )
    entries = list(buffer[: min(room, count.value)]) if buffer is not None and code == 0 else []
    return code, count.value, entries


def conventions(device: Any, kind: int, newest: int, room: int) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Tell what the call says without a buffer, without anything new, and with too small a one."""
    code, count, _ = ask(device, kind, 0, 0)
    yield "null_buffer", [error_name(code), count]
    code, count, _ = ask(device, kind, newest, 0)
    yield "null_buffer_nothing_new", [error_name(code), count]
    for name, since in (("nothing_new", newest), ("asked_of_the_future", newest + 10**12)):
        code, count, _ = ask(device, kind, since, room)
        yield name, [error_name(code), count]
    code, count, entries = ask(device, kind, 0, 1)
    age_s = [(newest - entry.timeStamp) / 1e6 for entry in entries]
    yield "buffer_of_one", {"code": error_name(code), "count": count, "older_than_newest_s": age_s}


def clock_of(newest_us: int) -> dict[str, float]:
    """Tell how far the newest entry is from each clock, in seconds."""
    clocks = {
        "realtime": time.time_ns(),
        "boottime": time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        "monotonic": time.monotonic_ns(),
    }
    return {name: now_ns / 1e9 - newest_us / 1e6 for name, now_ns in clocks.items()}


def ring_facts(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell about each kind of sample."""
    for name, kind in KINDS.items():
        code, capacity, _ = ask(device, kind, 0, 0)
        if code != nv.NVML_SUCCESS:
            yield f"{name}_ring", error_name(code)
            continue
        code, _, entries = ask(device, kind, 0, 4 * max(capacity, 128))
        yield f"{name}_ring", {"capacity": capacity, "entries": len(entries)}
        stamps = [entry.timeStamp for entry in entries]
        if not stamps:
            yield f"{name}_ring_empty", error_name(code)
            continue
        ascending = sorted(stamps)
        gaps = [(b - a) / 1000 for a, b in itertools.pairwise(ascending)]
        order = {True: "ascending", False: "descending" if stamps == ascending[::-1] else "mixed"}
        yield f"{name}_order", order[stamps == ascending]
        yield f"{name}_values_above_0", sum(entry.sampleValue.uiVal > 0 for entry in entries)
        yield f"{name}_duplicates", len(stamps) - len(set(stamps))
        if gaps:
            spread = {"min": min(gaps), "median": statistics.median(gaps), "max": max(gaps)}
            yield f"{name}_period_ms", spread
        yield f"{name}_newest_age_s", clock_of(max(stamps))
        for fact, value in conventions(device, kind, max(stamps), capacity + 128):
            yield f"{name}_{fact}", value


@dataclass(slots=True)
class Cursor:
    """One that drains the ring from time to time, and what it has seen; newest as the driver's."""

    period_s: float
    newest: int
    due: float
    seen: set[int] = field(default_factory=set)

    def drain(self, device: Any, kind: int, room: int) -> None:  # noqa: ANN401 - pynvml's handle
        """Take what is new."""
        _, _, entries = ask(device, kind, self.newest, room)
        stamps = {entry.timeStamp for entry in entries}
        self.seen |= stamps
        self.newest = max(stamps, default=self.newest)
        self.due += self.period_s


def drains(device: Any, seconds: float) -> tuple[int, int]:  # noqa: ANN401 - pynvml's handle
    """Drain the ring every half second and, beside that, every five.

    Gives how many entries the frequent drains saw, and how many of these the others missed.
    """
    kind = nv.NVML_GPU_UTILIZATION_SAMPLES
    code, capacity, _ = ask(device, kind, 0, 0)
    if code != nv.NVML_SUCCESS:
        return 0, 0
    _, _, old = ask(device, kind, 0, 4 * max(capacity, 128))
    begin = max((entry.timeStamp for entry in old), default=0)
    start = time.monotonic()
    frequent, seldom = (Cursor(period_s=period, newest=begin, due=start) for period in (0.5, 5.0))
    while (now := time.monotonic()) < start + seconds:
        for cursor in (frequent, seldom):
            if now >= cursor.due:
                cursor.drain(device, kind, 4 * max(capacity, 128))
        time.sleep(max(0.0, min(frequent.due, seldom.due, start + seconds) - time.monotonic()))
    for cursor in (frequent, seldom):
        cursor.drain(device, kind, 4 * max(capacity, 128))
    return len(frequent.seen), len(frequent.seen - seldom.seen)
