"""The scenarios of `make accuracy`; the mock driver's files are in accuracy/."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oracle import Scenario, parse_scenario

__all__ = ["CASES", "LEAD_S", "QUICK", "Case"]

FILES = Path(__file__).resolve().parent / "accuracy"
LEAD_S = 3  # the task begins this long after the scenario's time 0


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario, and how long its task lasts.

    A task ends while nothing happens: what the driver is about to publish then, nobody gets.
    """

    name: str
    seconds: float
    what: str
    ring: bool = True  # False: the driver has no samples to drain

    @property
    def file(self) -> Path:
        """The mock driver's file."""
        return FILES / f"{self.name}.txt"

    def scenario(self) -> Scenario:
        """Read the file as the oracle does."""
        return parse_scenario(self.file.read_text())


CASES = (
    Case("constant", 6, "60 % all the time"),
    Case("step-1s", 14.4, "training steps of 1.0 s, busy for the last 30 % of each"),
    Case("busy-300ms", 13.9, "80 % for 300 ms of every second"),
    Case("burst", 10, "80 ms of work in 10 s"),
    Case("busy-3-to-5", 8, "a task of 8 s, busy from 3 to 5 s"),
    Case("memory-ramp", 12, "memory and load grow, hold, and fall"),
    Case("memory-peak", 6, "12000 MiB held for one poll, 2000 otherwise"),
    Case("dry-ring", 12, "the ring runs dry while the device idles"),
    Case("boot-clock", 8, "samples stamped since boot, newest first"),
    Case("old-driver", 8, "no second version of the memory call, a longer ring"),
    Case("two-devices", 10, "two devices of different sizes and loads"),
    Case("device-lost", 10, "one of two devices falls off the bus after 6 s"),
    Case("slow-driver", 10, "each call takes 20 ms"),
    Case("no-ring", 19.4, "the steps of 1.0 s, on a driver without samples", ring=False),
)
QUICK = ("constant", "memory-peak", "step-1s")
