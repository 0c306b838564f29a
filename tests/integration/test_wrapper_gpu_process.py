"""The helper as a process: what its end does to the task and the other way round."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper, ends

Scenario = Callable[[str], None]

CONSTANT = "device 0\nseries 0 util 0 60\nseries 0 mem 0 4000\n"


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_killed_helper_leaves_its_last_reading_and_is_not_booked(
    wrapper: Wrapper, gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario(CONSTANT)
    command = ["sh", "-c", "read line; sleep 0.3"]
    assert wrapper.run(*command, input="\n").returncode == 0
    without = wrapper.trace()["proc"]
    at = str(time.monotonic_ns() - 60 * 10**9)
    process = gpu_wrapper.start(*command, NVMLMOCK_T0=at)
    helper = wait_for_helper(process.pid)
    os.kill(helper, signal.SIGKILL)
    process.communicate("\n", timeout=30)
    assert process.returncode == 0
    trace = gpu_wrapper.trace()
    assert trace["gpu"]["avg_mem"] == 4000
    for key in ("rchar", "wchar", "syscr", "syscw"):
        assert trace["proc"][key] == without[key]


def wait_for_helper(wrapper_pid: int) -> int:
    """Wait until the helper rests between two readings: its first one is published then."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for child in children(wrapper_pid):
            process = Path("/proc", str(child))
            with contextlib.suppress(OSError):  # it may have ended meanwhile
                if (
                    "gpu-probe-nvml" in (process / "cmdline").read_text()
                    and "poll" in (process / "wchan").read_text()
                ):
                    return child
    raise AssertionError("no helper came to rest within ten seconds")


def test_no_helper_outlives_the_wrapper(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT)
    process = gpu_wrapper.start("sh", "-c", "echo up; read line")
    assert process.stdout is not None
    process.stdout.readline()
    gpu_wrapper.wait_for_trace()
    pids = children(process.pid)
    pidfds = [os.pidfd_open(pid) for pid in pids]
    process.kill()
    process.communicate(timeout=30)
    for pidfd in pidfds:
        assert ends(pidfd)


def test_no_library_is_loaded_without_a_device(wrapper: Wrapper) -> None:
    if any(Path("/dev", node).exists() for node in ("nvidiactl", "nvidia-caps", "dxg")):
        pytest.skip("this host has a GPU")
    process = wrapper.start("sh", "-c", "echo up; read line")
    assert process.stdout is not None
    process.stdout.readline()
    wrapper.wait_for_trace()
    assert len(children(process.pid)) == 1  # the command alone
    process.communicate("\n", timeout=30)
    trace = wrapper.trace()
    assert "gpu" not in trace
    notes = [note for note in trace["probe"]["notes"] if not note.startswith("cgroup:")]
    assert notes == ["no NVIDIA device node below /dev"]
