"""A trace is valid at every instant: kills at random moments, before and after the first trace.

`GPU_PROBE_KILLS=1000` tries as many as that (and 3 for each 10 of them before the first trace).
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper

KILLS = int(os.environ.get("GPU_PROBE_KILLS", "60"))
SEED = 20_001
WAYS = [(who, sig) for who in ("task", "wrapper", "both") for sig in (15, 9)]


def start(wrapper: Wrapper) -> subprocess.Popen[bytes]:
    """In its directory: a place that is named is looked at by a child, before the task is one."""
    return subprocess.Popen(
        [*wrapper.entry, "--interval", "10ms", "--timeline", "--", "sleep", "30"],
        cwd=wrapper.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def task_of(pid: int) -> int | None:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else None


def kill(process: subprocess.Popen[bytes], who: str, number: int) -> None:
    task = task_of(process.pid)
    if who != "wrapper" and task is not None:
        with contextlib.suppress(ProcessLookupError):  # of the checkpoint's SIGTERM
            os.kill(task, number)
    if who != "task" or task is None:
        process.send_signal(number)


def pause(random_numbers: random.Random, longest_s: float) -> None:
    """Wait for any time, mostly for a short one: sleeping is too coarse for the first moments."""
    until = time.perf_counter() + longest_s * random_numbers.random() ** 3
    while time.perf_counter() < until:
        pass


@pytest.mark.parametrize("part", range(6))
def test_a_trace_is_valid_whenever_something_is_killed(wrapper: Wrapper, part: int) -> None:
    numbers = random.Random(SEED + part)
    place = wrapper.directory / ".fusion" / "trace.json"
    who, number = WAYS[part]
    for _ in range(-(-KILLS // len(WAYS))):
        process = start(wrapper)
        while not place.exists():
            pass
        pause(numbers, 0.02)
        if numbers.random() < 0.5:  # amid a checkpoint
            process.send_signal(signal.SIGTERM)
            pause(numbers, 0.001)
        kill(process, who, number)
        process.wait(timeout=30)
        trace = json.loads(place.read_bytes())
        assert trace["probe"]["pid"] == process.pid
        assert trace["probe"]["state"] in ("running", "final")
        place.unlink()
    wrapper.run("true")  # and the next one removes what was left half written
    assert {path.name for path in place.parent.iterdir()} <= {"trace.json", "timeline.json"}


def test_before_the_first_trace_there_is_none_or_a_valid_one(wrapper: Wrapper) -> None:
    numbers = random.Random(SEED)
    place = wrapper.directory / ".fusion" / "trace.json"
    found = 0
    for attempt in range(-(-KILLS * 3 // 10)):
        process = start(wrapper)
        pause(numbers, 0.004)
        if place.exists():
            found += 1
        kill(process, *WAYS[attempt % len(WAYS)])
        process.wait(timeout=30)
        if place.exists():
            assert json.loads(place.read_bytes())["probe"]["pid"] == process.pid
            place.unlink()
    assert found < KILLS * 3 // 10
