"""Whose GPUs and whose processes, in real time: the wrapper, its helper and the mock driver."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import probe
from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]

CONSTANT = "device 0 mem_mib=16384\nseries 0 util 0 60\nseries 0 mem 0 4000\n"
HOST_NAMESPACE = "pid:[4026531836]"


def gpu_notes(trace: dict[str, Any]) -> list[str]:
    """The notes that are not about this host's control group, which others may share."""
    return [note for note in trace["probe"]["notes"] if not note.startswith("cgroup:")]


def run_with_gpu(wrapper: Wrapper, seconds: float) -> dict[str, Any]:
    """Run a task of known length whose driver has been busy for long; return the trace."""
    at = str(time.monotonic_ns() - 60 * 10**9)
    done = wrapper.run("sleep", str(seconds), NVMLMOCK_T0=at)
    assert (done.returncode, done.stderr) == (0, "")
    return wrapper.trace()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_tasks_own_memory_and_nobody_else(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    """The task is a child of the wrapper, beside the helper that asks for it."""
    scenario(CONSTANT + "proc 0 pid=child mem_mib=700\n")
    trace = run_with_gpu(gpu_wrapper, 0.5)
    [device] = trace["gpu"]["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (700, "nvml_processes")
    assert (device["others"], device["mem_used_at_start"]) == ({"count": 0}, 4000)
    in_host = str(Path("/proc/self/ns/pid").readlink()) == HOST_NAMESPACE
    assert trace["probe"]["scope"].get("shared") == (False if in_host else None)


def test_a_process_of_somebody_elses(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    """This test is no part of the task."""
    scenario(f"{CONSTANT}proc 0 pid={os.getpid()} mem_mib=300\nproc 0 pid=child mem_mib=700\n")
    trace = run_with_gpu(gpu_wrapper, 0.5)
    [device] = trace["gpu"]["devices"]
    assert device["own_peak_mem_used"] == 700
    assert device["others"] == {"count": 1, "mem_used": 300}
    assert trace["probe"]["scope"]["shared"] is True


def test_no_helper_for_no_gpus(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT)
    process = gpu_wrapper.start("sh", "-c", "echo up; read line", options=["--gpus", "none"])
    assert process.stdout is not None
    process.stdout.readline()
    gpu_wrapper.wait_for_trace()
    assert len(children(process.pid)) == 1  # the command alone
    process.communicate("\n", timeout=30)
    trace = gpu_wrapper.trace()
    assert "gpu" not in trace
    assert trace["probe"]["scope"]["gpus"] == "none"
    assert gpu_notes(trace) == ["GPUs were left out: --gpus none"]


@pytest.mark.parametrize("given", ["option", "variable"])
def test_the_devices_that_were_asked_for(
    gpu_wrapper: Wrapper, scenario: Scenario, given: str
) -> None:
    scenario("device 0 uuid=GPU-a\ndevice 1 uuid=GPU-b\n")
    options = ["--gpus", "GPU-b"] if given == "option" else []
    variables = {"GPU_PROBE_GPUS": "GPU-b"} if given == "variable" else {}
    assert gpu_wrapper.run("sleep", "0.3", options=options, **variables).returncode == 0
    trace = gpu_wrapper.trace()
    assert [d["index"] for d in trace["gpu"]["devices"]] == [1]
    assert trace["probe"]["scope"]["gpus"] == "option"


def test_a_list_that_is_none_is_an_error(gpu_wrapper: Wrapper) -> None:
    done = gpu_wrapper.run("true", options=["--gpus", "0-3"])
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1
    assert "0,2 or GPU-8932f9" in done.stderr


def test_the_sampler_measures_the_devices_that_were_asked_for(
    mock_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with probe.Sampler(tmp_path, nvml_library=mock_library, gpus="none") as sampler:
        pass
    assert "gpu" not in sampler.trace
    assert sampler.trace["probe"]["notes"][:1] == ["GPUs were left out: --gpus none"]
    monkeypatch.setenv("GPU_PROBE_GPUS", "0-1")
    with pytest.raises(probe.ProbeError, match="'0-1', which is none of auto, none, all"):
        probe.Sampler(tmp_path, nvml_library=mock_library).start()
