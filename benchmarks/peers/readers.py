"""What the readers share: the time line, and figures from polls."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Figures", "Poll", "TimeLine", "figures_of_polls", "folded", "serve"]

Figures = dict[str, object]


@dataclass(frozen=True, slots=True)
class TimeLine:
    """When to read: [start_ns, end_ns) of CLOCK_MONOTONIC."""

    start_ns: int
    end_ns: int

    def wait_for_start(self) -> None:
        """Sleep until the beginning."""
        sleep_until(self.start_ns)

    def wait_for_end(self) -> None:
        """Sleep until the end."""
        sleep_until(self.end_ns)

    def seconds(self) -> Iterator[None]:
        """Wait for each full second after the start, the first included."""
        for tick_ns in range(self.start_ns, self.end_ns, 1_000_000_000):
            sleep_until(tick_ns)
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One device at one moment; what could not be read is None."""

    pct: float | None
    memory_mib: float | None


def sleep_until(at_ns: int) -> None:
    """Sleep until a time of CLOCK_MONOTONIC."""
    while (left_ns := at_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / 1e9)


def mean(values: Sequence[float]) -> float:
    """Give the plain mean, as who polls at equal times takes it."""
    return sum(values) / len(values)


def figures_of_device(polls: Sequence[Poll]) -> dict[str, float]:
    """Give the figures of one device; absent what was never read."""
    figures: dict[str, float] = {}
    pct = [poll.pct for poll in polls if poll.pct is not None]
    memory = [poll.memory_mib for poll in polls if poll.memory_mib is not None]
    if pct:
        figures |= {"pct": mean(pct), "peak": max(pct)}
    if memory:
        figures |= {"avg_mem": mean(memory), "peak_mem_used": max(memory)}
    return figures


def folded(devices: Sequence[Mapping[str, float]]) -> Figures:
    """Give the figures of each device, and of all as one; sums of peaks would be no peaks."""
    total: Figures = {}
    for key, fold in (("pct", mean), ("peak", max), ("avg_mem", sum)):
        values = [device[key] for device in devices if key in device]
        if values:
            total[key] = fold(values)
    if len(devices) == 1:
        total |= devices[0]
    return {**total, "devices": list(devices)}


def figures_of_polls(ticks: Sequence[Sequence[Poll]]) -> Figures:
    """Give the figures from polls once a second; a tick is one poll of each device."""
    figures = folded([figures_of_device(polls) for polls in zip(*ticks, strict=True)])
    known = [[poll.memory_mib for poll in tick if poll.memory_mib is not None] for tick in ticks]
    if any(known):
        figures["peak_mem_used"] = max(map(sum, known))
    if "pct" in figures:
        busy = [any(poll.pct for poll in tick) for tick in ticks]
        figures["active_time"] = 1000 * sum(busy)
    return figures


def serve(read: Callable[[TimeLine], Figures]) -> None:
    """Say that the imports are done, take the time line, read, and print what came of it."""
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no part of the answer
    os.write(answer, b"ready\n")
    line = json.loads(sys.stdin.readline())
    os.environ["NVMLMOCK_T0"] = str(line["t0_ns"])
    figures = read(TimeLine(line["start_ns"], line["end_ns"]))
    os.write(answer, json.dumps(figures).encode() + b"\n")
