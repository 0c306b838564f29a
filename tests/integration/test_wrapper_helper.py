"""The process that reads the driver: its end, at any time and inside the driver."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.watched import Watched, watch
from helpers.wrapper import Wrapper, ends

Scenario = Callable[[str], None]

LATE_S = 1.0  # of a busy machine


def helper_of(wrapper_pid: int) -> int:
    """Find the helper among the wrapper's children."""
    names = Path(f"/proc/{wrapper_pid}/task/{wrapper_pid}/children").read_text().split()
    [pid] = [int(n) for n in names if "nvml" in Path("/proc", n, "comm").read_text()]
    return pid


def start_with_log(
    gpu_wrapper: Wrapper, log: Path, *options: str
) -> tuple["subprocess.Popen[str]", float]:
    """Start a command that ends with its input, 60 s into the scenario; tell when."""
    begin = time.monotonic()
    at = str(time.monotonic_ns() - 60 * 10**9)
    command = ("sh", "-c", "read line")
    process = gpu_wrapper.start(*command, options=options, NVMLMOCK_T0=at, NVMLMOCK_LOG=str(log))
    return process, begin


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A place for the driver's log of calls, in a directory of its own."""
    (tmp_path / "log").mkdir()
    return tmp_path / "log" / "calls"


@pytest.mark.parametrize("where", ["nvmlInit_v2", "nvmlDeviceGetMemoryInfo_v2"])
def test_a_helper_inside_a_hung_driver_dies_with_the_wrapper(
    gpu_wrapper: Wrapper, scenario: Scenario, log: Path, where: str
) -> None:
    """It cannot see its channel close there: the kernel has to end it."""
    scenario(f"device 0\nhang {where} from=0\n")
    with watch(log.parent) as calls:
        process, _ = start_with_log(gpu_wrapper, log)
        calls.wait_for_lines(log, " hang\n", 1)
    pidfd = os.pidfd_open(helper_of(process.pid))
    process.kill()
    process.communicate(timeout=30)
    assert ends(pidfd)


def kill_after_drains(process: "subprocess.Popen[str]", calls: Watched, log: Path) -> None:
    """Kill the helper once it has read entries of the ring that are of the task, and rests."""
    calls.wait_for_lines(log, "nvmlDeviceGetSamples", 6)  # two rings: at open, first, again
    helper = helper_of(process.pid)
    pidfd = os.pidfd_open(helper)
    deadline = time.monotonic() + 10
    while "poll" not in Path(f"/proc/{helper}/wchan").read_text():
        assert time.monotonic() < deadline, "the helper did not come to rest"
    os.kill(helper, signal.SIGKILL)
    assert ends(pidfd)


@pytest.mark.parametrize("pct", [0, 60])
def test_a_helper_that_is_killed_leaves_what_it_knew_and_no_more_is_said(
    gpu_wrapper: Wrapper, scenario: Scenario, log: Path, pct: int
) -> None:
    """It lives for less than half of the time: that is too little to call a device unused."""
    scenario(f"device 0 mem_mib=1000\nseries 0 util 0 {pct}\nseries 0 mem 0 100\n")
    options = ("--summary", "--interval", "200ms")
    with watch(log.parent) as calls:
        process, begin = start_with_log(gpu_wrapper, log, *options)
        kill_after_drains(process, calls, log)
    watched_s = time.monotonic() - begin
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5 * watched_s)  # the command goes on for longer than it was watched
    before_end = time.monotonic()
    _, said = process.communicate("\n", timeout=30)
    assert time.monotonic() - before_end < LATE_S
    assert process.returncode == 0
    trace = gpu_wrapper.trace()
    coverage = trace["probe"]["coverage"]
    assert 0.05 <= coverage < 0.5
    expected = f"gpu-probe: GPU observed only {round(100 * coverage)} % of the time"
    assert said.startswith(expected + (", and busy 60 % of that" if pct > 0 else " "))
    [device] = trace["gpu"]["devices"]
    assert (device["pct"], device["peak"], device["avg_mem"]) == (pct, pct, 100)
    assert (
        "the NVML helper ended by signal 9: there are no GPU figures after that"
        in trace["probe"]["notes"]
    )
    assert "xids" not in device
    assert device["absent"]["xids"].startswith("events were not read after ")
