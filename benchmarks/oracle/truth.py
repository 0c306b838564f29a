"""The figures of a task: of each device, and of all as one, by the rules of trace-format.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from oracle.memory import Memory, folded_memory, memory
from oracle.scenario import Device, Scenario
from oracle.utilization import Utilization, folded_utilization, utilization
from oracle.window import Window, united

__all__ = ["Figures", "Truth", "truth_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one device, or of several as one; energy in mJ. `lost`: one did not last."""

    gpu: Utilization
    controller: Utilization
    memory: Memory
    energy_mj: Fraction
    power_max_w: Fraction
    lost: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """All devices as one, and each."""

    total: Figures
    devices: tuple[Figures, ...]


def figures(scenario: Scenario, device: Device, window: Window, interval: Fraction) -> Figures:
    """Compute the figures of one device, over the part of the window in which it answers."""
    life = window.until(device.lost)
    power = device.over_time("power")
    return Figures(
        gpu=utilization(scenario, device, "util", life),
        controller=utilization(scenario, device, "memutil", life),
        memory=memory(scenario, device, life, interval),
        energy_mj=power.integral(life.start, life.end) * 1000,
        power_max_w=power.largest(life.start, life.end),
        lost=life != window,
    )


def truth_of(scenario: Scenario, window: Window, *, interval: Fraction = Fraction(1)) -> Truth:
    """Compute everything; `interval` is that of polled memory, in seconds.

    Raises:
        ValueError: no device, or one that is lost before the window begins.
    """
    lives = [window.until(device.lost) for device in scenario.devices]
    if not lives or any(life.length <= 0 for life in lives):
        raise ValueError("there is no truth about a device that never answers")
    devices = [figures(scenario, device, window, interval) for device in scenario.devices]
    gpus, controllers = [one.gpu for one in devices], [one.controller for one in devices]
    total = Figures(
        gpu=folded_utilization(gpus, united(part for gpu in gpus for part in gpu.busy)),
        controller=folded_utilization(controllers, united(p for c in controllers for p in c.busy)),
        memory=folded_memory(scenario, [one.memory for one in devices], lives, window, interval),
        energy_mj=sum((one.energy_mj for one in devices), Fraction(0)),
        power_max_w=sum((one.power_max_w for one in devices), Fraction(0)),
        lost=any(one.lost for one in devices),
    )
    return Truth(total, tuple(devices))
