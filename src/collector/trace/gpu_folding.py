"""The gpu blocks of several ranks as one, each device counted once."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

__all__ = ["fold_gpus"]

_Block: TypeAlias = Mapping[str, Any]

_LARGEST = 2**53
_COMBINED = ("mem", "avg_mem", "peak_mem_used")


def fold_gpus(found: Sequence[tuple[_Block, str, int]]) -> _Block | None:
    """Fold gpu blocks, each with its host's name and its time in ms; `None` where there are none.

    A device is known by its uuid, else by its host, index and instance; of several entries the one
    that was observed for the longest time is taken. A block that has all devices is taken as it is,
    for it knows what happened at the same time. Otherwise the rules are those of several devices in
    one trace, with two differences: the peak of memory in use is the sum of the devices' peaks, and
    `active_time` the largest of one device.
    """
    if not found:
        return None
    best: dict[object, _Block] = {}
    observed: dict[object, float] = {}
    keys_of = []
    for block, host, realtime_ms in found:
        devices = {_key(device, host): device for device in _devices(block)}
        keys_of.append((set(devices), block, realtime_ms))
        for key, device in devices.items():
            time_ms = _coverage(device) * realtime_ms
            if key not in best or time_ms > observed[key]:
                best[key], observed[key] = device, time_ms
    whole = [(block, ms) for keys, block, ms in keys_of if keys == set(best)]
    if whole:
        return max(whole, key=lambda of: of[1] * min(map(_coverage, _devices(of[0])), default=0))[0]
    first = found[0][0]
    return _combine(list(best.values()), first.get("driver"))


def _devices(block: _Block) -> list[_Block]:
    listed = block.get("devices")
    if not isinstance(listed, list):
        return []
    return [device for device in listed if isinstance(device, dict)]


def _key(device: _Block, host: str) -> object:
    uuid = device.get("uuid")
    if isinstance(uuid, str):
        return uuid
    mig = device.get("mig")
    instance = (str(mig.get("gi")), str(mig.get("ci"))) if isinstance(mig, dict) else None
    return host, str(device.get("index")), instance


def _coverage(device: _Block) -> float:
    value = device.get("coverage")
    return value if _is_sane(value) else 0


def _values(devices: Sequence[_Block], key: str) -> list[float]:
    found = (device.get(key) for device in devices)
    return [value for value in found if _is_sane(value)]


def _is_sane(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number that can be added to others; a file may hold any."""
    return type(value) in (int, float) and 0 <= cast("float", value) <= _LARGEST


def _combine(devices: Sequence[_Block], driver: object) -> _Block:
    names = dict.fromkeys(d["name"] for d in devices if isinstance(d.get("name"), str))
    sums = {key: int(sum(values)) for key in _COMBINED if (values := _values(devices, key))}
    folded: dict[str, Any] = {
        "name": ", ".join(names) or None,
        "mem": sums.get("mem"),
        "driver": driver,
        "active_time": max(_values(devices, "active_time"), default=None),
        "pct": _mean(devices, "pct"),
        "peak": max(_values(devices, "peak"), default=None),
        "pct_mem": _share(sums, "avg_mem"),
        "peak_mem": _share(sums, "peak_mem_used"),
        "avg_mem": sums.get("avg_mem"),
        "peak_mem_used": sums.get("peak_mem_used"),
        "avg_mem_bw_util": _mean(devices, "avg_mem_bw_util"),
        "peak_mem_bw_util": max(_values(devices, "peak_mem_bw_util"), default=None),
        "devices": list(devices),
    }
    return {key: value for key, value in folded.items() if value is not None}


def _mean(devices: Sequence[_Block], key: str) -> int | None:
    values = _values(devices, key)
    return int(sum(values) / len(values) + 0.5) if values else None


def _share(sums: Mapping[str, int], key: str) -> float | None:
    total = sums.get("mem")
    return 100.0 * sums[key] / total if total and key in sums else None
