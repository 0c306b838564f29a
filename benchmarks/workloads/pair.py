#!/usr/bin/env python3
"""Two tasks on one GPU, each under its own gpu-probe, of which is known what each does.

Prints one JSON object: for each task its truth and what its trace must show, and with --traces
also what it shows. A device has one counter of utilization for all: the truth of a task that shares
it is the union of what both do while it runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PairFailed", "Task", "busy_intervals", "expected", "overlap_ms", "run_pair", "union"]

BUILD = Path(__file__).resolve().parents[2] / "build/dev"
Interval = tuple[float, float]


class PairFailed(Exception):
    """One of the tasks did not end well."""

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One of the two: what duty said of itself, and its trace."""

    truth: dict[str, Any]
    trace: dict[str, Any]

    def window_ms(self) -> Interval:
        """Give when the task ran, in ms since 1970."""
        start = float(self.trace["probe"]["start_ms"])
        return start, start + float(self.trace["proc"]["realtime"])


def busy_intervals(truth: dict[str, Any]) -> list[Interval]:
    """Give when duty kept the device busy, in ms since 1970."""
    period = truth["busy_ms"] + truth["idle_ms"]
    starts = (truth["start_ms"] + i * period for i in range(truth["cycles"]))
    return [(start, start + truth["busy_ms"]) for start in starts]


def union(intervals: Sequence[Interval]) -> list[Interval]:
    """Merge the intervals that overlap."""
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def overlap_ms(intervals: Sequence[Interval], window: Interval) -> float:
    """Give for how much of the window there is one of the (disjoint) intervals."""
    return sum(max(0.0, min(end, window[1]) - max(begin, window[0])) for begin, end in intervals)


def expected(task: Task, other: Task) -> dict[str, Any]:
    """Give what the figures of one task must show."""
    window = task.window_ms()
    theirs = other.window_ms()
    busy = union(busy_intervals(task.truth) + busy_intervals(other.truth))
    together = overlap_ms([theirs], window) > 0
    return {
        "shared": together,
        "device_pct": round(100 * overlap_ms(busy, window) / (window[1] - window[0]), 2),
        "own_pct": round(
            100 * overlap_ms(busy_intervals(task.truth), window) / (window[1] - window[0]), 2
        ),
        "own_mib_at_least": task.truth["vram_mib"],
        "foreign_processes": 1 if together else 0,
        "foreign_mib_at_least": other.truth["vram_mib"] if together else 0,
        "device_peak_mib_at_least": task.truth["vram_mib"]
        + (other.truth["vram_mib"] if together else 0),
    }


def duty_words(duty: Path, seconds: float, turn: tuple[int, int], vram_mib: int) -> list[str]:
    """Make the command of one task: it is busy and idle for these milliseconds in turns."""
    cycles = max(1, round(seconds * 1000 / sum(turn)))
    numbers = {"busy-ms": turn[0], "idle-ms": turn[1], "cycles": cycles, "vram-mib": vram_mib}
    options = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    return [str(duty), "--device", "gpu", *options]


def run_pair(
    gpu_probe: Path, duty: Path, *, seconds: float, mib: tuple[int, int]
) -> tuple[Task, Task]:
    """Run both tasks at once, with periods that drift against each other: 30 % and 20 % duty."""
    turns = ((300, 700), (220, 880))
    with tempfile.TemporaryDirectory() as directory:
        running = []
        for name, turn, vram_mib in zip("ab", turns, mib, strict=True):
            place = Path(directory, name)
            place.mkdir()
            words = duty_words(duty, seconds, turn, vram_mib)
            command = [str(gpu_probe), "--quiet", "--workdir", str(place), "--", *words]
            process = subprocess.Popen(
                command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            running.append((place, process))
        ended = [(place, process, *process.communicate()) for place, process in running]
        for _, process, _, words_of in ended:
            if process.returncode != 0:
                raise PairFailed(words_of.strip(), process.returncode)
        first, second = (
            Task(
                truth=json.loads(out),
                trace=json.loads((place / ".fusion/trace.json").read_bytes()),
            )
            for place, _, out, _ in ended
        )
    return first, second


def main() -> int:
    """Run the pair and print what is true of it."""
    parser = argparse.ArgumentParser(
        description="Two tasks on one GPU, each under its own gpu-probe.",
        epilog="Exit status: that of a task that failed, 69 where there is no CUDA device.",
    )
    for name, words in (("gpu-probe", "the wrapper"), ("duty", "the built load")):
        help_text = f"{words} (default: that of build/dev)"
        parser.add_argument(f"--{name}", type=Path, default=BUILD / name, help=help_text)
    parser.add_argument("--seconds", type=float, default=12, help="length of each (default: 12)")
    parser.add_argument("--mib", type=int, nargs=2, default=(512, 256), metavar=("A", "B"))
    parser.add_argument("--traces", action="store_true", help="print the gpu blocks too")
    arguments = parser.parse_args()
    try:
        pair = run_pair(
            arguments.gpu_probe,
            arguments.duty,
            seconds=arguments.seconds,
            mib=(arguments.mib[0], arguments.mib[1]),
        )
    except PairFailed as problem:
        print(problem, file=sys.stderr)
        return problem.status
    result = []
    for task, other in (pair, pair[::-1]):
        entry = {"truth": task.truth, "expected": expected(task, other)}
        result.append(entry | ({"gpu": task.trace.get("gpu")} if arguments.traces else {}))
    print(json.dumps({"tasks": result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
