"""When a running trace is replaced, as the replaced files themselves tell."""

import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helpers.watched import watch
from helpers.wrapper import Wrapper

LATE_MS = 400  # of a busy machine; the schedule itself is tested in virtual time


def test_the_first_checkpoints_come_at_1_2_and_5_seconds(wrapper: Wrapper) -> None:
    """Of a command that sleeps: nothing but the schedule is a reason to write."""
    (wrapper.directory / ".fusion").mkdir()
    traces: list[dict[str, Any]] = []
    with watch(wrapper.directory / ".fusion") as place:
        process = wrapper.start("sleep", "5.6")
        while process.poll() is None and place.wait(10):
            if not (wrapper.directory / ".fusion" / "trace.json").exists():
                continue
            trace = wrapper.trace()
            if traces == [] or trace["probe"]["written_ms"] != traces[-1]["probe"]["written_ms"]:
                traces.append(trace)
        process.communicate(timeout=30)
    states = [trace["probe"]["state"] for trace in traces]
    assert states == ["running"] * 4 + ["final"]
    ages = [trace["proc"]["realtime"] for trace in traces]
    for age, due in zip(ages, (0, 1000, 2000, 5000, 5600), strict=True):
        assert due <= age <= due + LATE_MS
    for before, after in pairwise(traces):
        assert after["probe"]["samples"] >= before["probe"]["samples"]
        assert after["probe"]["run_id"] == before["probe"]["run_id"]


def kib(pid: int, key: str) -> int:
    """Read a size from a process's status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [value] = [int(line.split()[1]) for line in lines if line.startswith(f"{key}:")]
    return value


def test_checkpoints_leave_no_memory_behind(wrapper: Wrapper) -> None:
    """Also with a timeline, whose text needs room of its own each time."""
    if b"__asan_init" in Path(wrapper.entry[0]).read_bytes():
        pytest.skip("a sanitizer has a memory of its own")
    fusion = wrapper.directory / ".fusion"
    fusion.mkdir()
    sizes = []
    with watch(fusion) as place:
        process = wrapper.start("sh", "-c", "trap '' TERM; read line", options=["--timeline"])
        while not (fusion / "timeline.json").exists():  # with the checkpoint of the first second
            assert place.wait(10)
        for _ in range(12):
            before = wrapper.trace()["probe"]["written_ms"]
            process.send_signal(signal.SIGTERM)
            while wrapper.trace()["probe"]["written_ms"] == before:
                assert place.wait(10)
            sizes.append(kib(process.pid, "VmSize"))
    process.communicate("\n", timeout=30)
    one_text_kib = 32  # which may be there while it is written
    assert max(sizes[2:]) <= min(sizes[2:]) + 2 * one_text_kib
