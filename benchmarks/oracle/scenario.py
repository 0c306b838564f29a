"""Read what a scenario says about the devices; native/mock_nvml/README.md defines the lines.

Lines about how the driver answers (fail, delay, hang, crash, garbage, hide) change nothing about
what the devices did, and are passed over, with one exception: a hidden nvmlDeviceGetMemoryInfo_v2
leaves only the older call, whose "used" includes what the driver reserves. Whole devices only:
scenarios with instances (MIG), or with a driver that gives wrong memory, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction

from oracle.series import Series

__all__ = ["MIB", "Device", "Process", "Scenario", "ScenarioError", "parse_scenario"]

MIB = 1 << 20
WORD = re.compile(r'#.*|(?:"[^"]*"|[^\s"#])+')
ANSWERS = frozenset({"fail", "delay", "hang", "crash", "garbage"})
BEYOND = frozenset({"mig", "memory_v1", "memory_v2"})  # keys of devices without a plain truth


class ScenarioError(ValueError):
    """A line that the oracle does not understand: a truth without it would be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A compute process on a device, over [start, end)."""

    pid: str  # a number, or self, child, foreign
    start: Fraction = Fraction(0)
    end: Fraction | None = None
    mem_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device; series by kind: util, memutil (%), mem (MiB), power (W)."""

    total_bytes: int = 16384 * MIB
    reserved_bytes: int = 0
    power_w: Fraction = Fraction(70)
    series: Mapping[str, Series] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()
    lost: Fraction | None = None  # from when on it does not answer

    def over_time(self, kind: str) -> Series:
        """Give a series; without a line it is 0, and power is the device's constant."""
        constant = ((Fraction(0), self.power_w),) if kind == "power" else ()
        return self.series.get(kind, Series(constant))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A driver and its devices."""

    period: Fraction = Fraction(167, 1000)
    devices: tuple[Device, ...] = ()
    memory_v2: bool = True


def fraction(word: str) -> Fraction:
    """Read a decimal number, or 0x and a whole one."""
    return Fraction(int(word, 16)) if word.startswith("0x") else Fraction(word)


def assignments(words: Sequence[str]) -> dict[str, str]:
    """Split key=value words."""
    pairs = [word.partition("=") for word in words]
    return {key: value for key, _, value in pairs}


def mib(word: str) -> int:
    """Read MiB; give whole bytes."""
    return int(fraction(word) * MIB)


def read_device(words: Sequence[str]) -> Device:
    """Read the keys of a device line."""
    keys = assignments(words)
    if BEYOND & set(keys):
        raise ScenarioError(f"the oracle knows no device with {', '.join(BEYOND & set(keys))}")
    return Device(
        total_bytes=mib(keys.get("mem_mib", "16384")),
        reserved_bytes=mib(keys.get("reserved_mib", "0")),
        power_w=fraction(keys.get("power_w", "70")),
    )


def read_series(words: Sequence[str]) -> Series:
    """Read the points after the kind."""
    linear = words[:1] == ["linear"]
    numbers = [fraction(word) for word in words[linear:]]
    return Series(tuple(zip(numbers[::2], numbers[1::2], strict=True)), linear)


def read_process(words: Sequence[str]) -> Process:
    """Read the keys of a proc line."""
    keys = assignments(words)
    return Process(
        pid=keys["pid"],
        start=fraction(keys.get("t0", "0")),
        end=fraction(keys["t1"]) if "t1" in keys else None,
        mem_bytes=mib(keys.get("mem_mib", "0")),
    )


def earlier(a: Fraction | None, b: Fraction) -> Fraction:
    """Give the earlier of two times, of which one may be never."""
    return b if a is None else min(a, b)


def with_device_line(device: Device, kind: str, words: Sequence[str]) -> Device:
    """Add what a series, proc or lost line says."""
    if kind == "series":
        return replace(device, series={**device.series, words[0]: read_series(words[1:])})
    if kind == "proc":
        return replace(device, processes=(*device.processes, read_process(words)))
    return replace(device, lost=earlier(device.lost, fraction(assignments(words)["t"])))


def with_line(scenario: Scenario, words: Sequence[str]) -> Scenario:
    """Add what a line says."""
    kind, *rest = words
    devices = list(scenario.devices)
    if kind == "driver":
        keys = assignments(rest)
        return replace(scenario, period=fraction(keys.get("period_ms", "167")) / 1000)
    if kind == "device":
        return replace(scenario, devices=(*devices, read_device(rest[1:])))
    if kind in ("series", "proc", "lost"):
        number = int(rest[0])
        devices[number] = with_device_line(devices[number], kind, rest[1:])
    elif kind == "unload":
        t = fraction(assignments(rest)["t"])
        devices = [replace(device, lost=earlier(device.lost, t)) for device in devices]
    elif kind == "hide":
        if fnmatchcase("nvmlDeviceGetMemoryInfo_v2", rest[0]):
            return replace(scenario, memory_v2=False)
    elif kind not in ANSWERS:
        raise ScenarioError(f"the oracle knows no line '{kind}'")
    return replace(scenario, devices=tuple(devices))


def parse_scenario(text: str) -> Scenario:
    """Read a scenario that the mock driver accepts.

    Raises:
        ScenarioError: a kind of line, or of device, that the oracle does not know.
    """
    scenario = Scenario()
    for line in text.splitlines():
        words = [word.replace('"', "") for word in WORD.findall(line) if word[0] != "#"]
        if words:
            scenario = with_line(scenario, words)
    return scenario
