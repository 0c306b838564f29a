"""The gpu block, on the mock driver: real helper process, real library, known load."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]

CONSTANT = """
device 0 name="Mock Tesla T4" mem_mib=16384 reserved_mib=300
series 0 util 0 60
series 0 memutil 0 25
series 0 mem 0 4000
"""
UUID = "GPU-6d6f636b-0000-4000-8000-000000000000"
PERIOD_MS = 167


def gpu_notes(trace: dict[str, Any]) -> list[str]:
    """The notes that are not about this host's control group, which others may share."""
    return [note for note in trace["probe"]["notes"] if not note.startswith("cgroup:")]


def run_with_gpu(wrapper: Wrapper, seconds: float, **variables: str) -> dict[str, Any]:
    """Run a task of known length whose driver has been busy for long; return the trace."""
    at = str(time.monotonic_ns() - 60 * 10**9)
    done = wrapper.run("sleep", str(seconds), NVMLMOCK_T0=at, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    return wrapper.trace()


def test_a_constant_load_reads_as_it_is(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT)
    trace = run_with_gpu(gpu_wrapper, 3)
    gpu = trace["gpu"]
    assert gpu["name"] == "Mock Tesla T4"
    assert gpu["driver"] == "580.126.09"
    assert (gpu["pct"], gpu["peak"]) == (60, 60)
    assert (gpu["avg_mem_bw_util"], gpu["peak_mem_bw_util"]) == (25, 25)
    assert trace["proc"]["realtime"] - PERIOD_MS <= gpu["active_time"] <= trace["proc"]["realtime"]
    assert (gpu["mem"], gpu["avg_mem"], gpu["peak_mem_used"]) == (16384, 4000, 4000)
    assert gpu["pct_mem"] == gpu["peak_mem"] == 100 * 4000 / 16384
    [device] = gpu["devices"]
    assert device["utilization_source"] == "nvml_samples"
    assert device["memory_source"] == "nvml_memory_v2"
    assert device["throttle_reasons"] == []
    assert abs(device["energy_mj"] - 3 * 70_000) <= 0.2 * 70_000  # 70 W, counted in steps of 100 ms
    assert 1 - 2 * PERIOD_MS / 3000 <= device["coverage"] <= 1
    assert trace["probe"]["coverage"] == device["coverage"]
    assert set(device["profile"]["pct"]) == {60}
    assert trace["probe"]["mock"] is True
    assert gpu_notes(trace) == []


def test_a_task_shorter_than_the_driver_period_makes_no_claim(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("driver period_ms=5000\n" + CONSTANT)
    gpu = run_with_gpu(gpu_wrapper, 0.5)["gpu"]
    assert gpu["avg_mem"] == 4000
    for key in ("pct", "peak", "active_time"):
        # at most the part of a period that ended during the task, which is a true reading
        assert key not in gpu or gpu["devices"][0]["coverage"] > 0


def test_load_from_before_the_task_is_not_the_tasks(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("device 0\nseries 0 util 0 100 60 0\n")
    gpu = run_with_gpu(gpu_wrapper, 1.5)["gpu"]  # the load ended as the task began
    assert gpu["pct"] <= 6  # at most one period that straddles the start
    assert gpu["active_time"] <= PERIOD_MS


def test_two_devices_are_one_value_and_two_entries(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario(
        "device 0 name=A mem_mib=1000 uuid=GPU-a\ndevice 1 name=B mem_mib=3000 uuid=GPU-b\n"
        "series 0 util 0 80\nseries 1 util 0 20\nseries 0 mem 0 100\nseries 1 mem 0 300\n"
    )
    gpu = run_with_gpu(gpu_wrapper, 1)["gpu"]
    assert (gpu["name"], gpu["mem"]) == ("A, B", 4000)
    assert (gpu["pct"], gpu["peak"], gpu["avg_mem"], gpu["pct_mem"]) == (50, 80, 400, 10.0)
    assert [d["uuid"] for d in gpu["devices"]] == ["GPU-a", "GPU-b"]
    assert [d["pct"] for d in gpu["devices"]] == [80, 20]


@pytest.mark.parametrize(
    ("visible", "uuids", "kind"),
    [
        ("1", ["GPU-b"], "cuda_visible_devices"),
        ("GPU-a", ["GPU-a"], "cuda_visible_devices"),
        ("1,0", ["GPU-b", "GPU-a"], "cuda_visible_devices"),
    ],
)
def test_cuda_visible_devices_is_the_scope(
    gpu_wrapper: Wrapper, scenario: Scenario, visible: str, uuids: list[str], kind: str
) -> None:
    scenario("device 0 uuid=GPU-a\ndevice 1 uuid=GPU-b\n")
    trace = run_with_gpu(gpu_wrapper, 0.4, CUDA_VISIBLE_DEVICES=visible)
    assert [d["uuid"] for d in trace["gpu"]["devices"]] == uuids
    scope = trace["probe"]["scope"]
    assert (scope["gpus"], scope["confidence"]) == (kind, "exact")


def test_a_task_that_sees_no_device_has_no_gpu_block(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario(CONSTANT)
    trace = run_with_gpu(gpu_wrapper, 0.4, CUDA_VISIBLE_DEVICES="")
    assert "gpu" not in trace
    assert gpu_notes(trace) == ["CUDA_VISIBLE_DEVICES hides every device"]


def test_what_the_device_cannot_tell_is_absent(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(
        CONSTANT + "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"
        "fail nvmlDeviceGetUtilizationRates code=NOT_SUPPORTED\n"
        "fail nvmlDeviceGetTotalEnergyConsumption code=NOT_SUPPORTED\n"
    )
    trace = run_with_gpu(gpu_wrapper, 0.4)
    gpu = trace["gpu"]
    absent = {"active_time", "pct", "peak", "avg_mem_bw_util", "peak_mem_bw_util"}
    assert absent.isdisjoint(gpu)
    assert gpu["avg_mem"] == 4000
    assert {"energy_mj", "profile", "coverage", "samples"}.isdisjoint(gpu["devices"][0])
    assert "coverage" not in trace["probe"]
    assert "gpu.utilization" not in trace["probe"]["sources"]


def test_without_a_sample_ring_rates_are_polled(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT + "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n")
    at = str(time.monotonic_ns() - 60 * 10**9)
    gpu_wrapper.run("sleep", "1", options=["--interval", "100ms"], NVMLMOCK_T0=at)
    gpu = gpu_wrapper.trace()["gpu"]
    assert (gpu["pct"], gpu["peak"], gpu["avg_mem_bw_util"]) == (60, 60, 25)
    assert gpu["devices"][0]["utilization_source"] == "nvml_utilization_rates"


def test_memory_falls_back_to_version_1(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT + "fail nvmlDeviceGetMemoryInfo_v2 code=UNKNOWN\n")
    gpu = run_with_gpu(gpu_wrapper, 0.4)["gpu"]
    assert gpu["avg_mem"] == 4300  # version 1 counts what the driver reserves
    assert gpu["devices"][0]["memory_source"] == "nvml_memory_v1"


def test_what_was_read_before_a_loss_stays(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT + "lost 0 t=63\n")
    trace = run_with_gpu(gpu_wrapper, 4)
    [device] = trace["gpu"]["devices"]
    assert (device["pct"], device["avg_mem"]) == (60, 4000)
    assert 2900 <= device["lost_at_ms"] <= 4100
    assert gpu_notes(trace) == [f"device 0 ({UUID}) was lost during the task"]


def test_a_driver_that_does_not_answer_costs_no_time(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario(CONSTANT + "hang nvmlInit* from=0\n")
    begin = time.monotonic()
    done = gpu_wrapper.run("sh", "-c", "sleep 0.2; exit 9")
    assert done.returncode == 9
    assert time.monotonic() - begin < 2
    trace = gpu_wrapper.trace()
    assert "gpu" not in trace
    assert gpu_notes(trace) == ["the driver gave no reading before the task ended"]


def test_a_driver_that_hangs_later_costs_at_most_the_deadline(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario(CONSTANT + "hang nvmlDeviceGetMemoryInfo_v2 from=61\n")
    at = str(time.monotonic_ns() - 60 * 10**9)
    begin = time.monotonic()
    done = gpu_wrapper.run("sleep", "2.5", NVMLMOCK_T0=at)
    assert done.returncode == 0
    assert time.monotonic() - begin < 4
    trace = gpu_wrapper.trace()
    assert trace["gpu"]["avg_mem"] == 4000
    assert gpu_notes(trace) == [
        "the driver did not answer at the end: the GPU figures are of the time before"
    ]


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("fail nvmlInit* code=LIB_RM_VERSION_MISMATCH", "NVML could not be initialised"),
        ("fail nvmlDeviceGetCount* code=UNKNOWN", "the driver does not tell its devices"),
    ],
)
def test_a_broken_driver_is_a_note(
    gpu_wrapper: Wrapper, scenario: Scenario, line: str, note: str
) -> None:
    scenario(f"{CONSTANT}{line}\n")
    trace = run_with_gpu(gpu_wrapper, 0.3)
    assert "gpu" not in trace
    assert gpu_notes(trace)[0].startswith(note)


def test_a_wrong_library_is_a_note(gpu_wrapper: Wrapper) -> None:
    done = gpu_wrapper.run("sleep", "0.3", options=["--nvml-library", "/no/such/library.so"])
    assert done.returncode == 0
    [note] = gpu_notes(gpu_wrapper.trace())
    assert "/no/such/library.so" in note


def test_relative_paths_of_library_and_scenario_work(
    gpu_wrapper: Wrapper, mock_library: Path, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(CONSTANT)
    (tmp_path / "lib.so").symlink_to(mock_library)
    done = subprocess.run(
        gpu_wrapper.command("sleep", "0.3", options=["--nvml-library", "./lib.so"]),
        cwd=tmp_path,
        env=os.environ | {"NVMLMOCK_SCENARIO": "scenario.txt"},
        check=False,
    )
    assert done.returncode == 0
    assert gpu_wrapper.trace()["gpu"]["name"] == "Mock Tesla T4"


def test_a_malformed_scenario_is_explained_in_the_trace(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("device 0 mem_mb=3\n")
    [note] = gpu_notes(run_with_gpu(gpu_wrapper, 0.3))
    assert "scenario.txt:1: " in note
    assert "mem_mb" in note


def test_a_missing_helper_is_named(gpu_probe: Path, mock_library: Path, tmp_path: Path) -> None:
    alone = tmp_path / "bin" / "gpu-probe"
    alone.parent.mkdir()
    shutil.copy(gpu_probe, alone)
    wrapper = Wrapper(entry=[str(alone)], directory=tmp_path)
    done = wrapper.run("true", options=["--nvml-library", str(mock_library)])
    assert done.returncode == 0
    [note] = gpu_notes(wrapper.trace())
    assert f"{alone}-nvml" in note


def test_a_name_that_is_not_text_is_still_json(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(CONSTANT + "garbage name 0\n")
    assert "\ufffd" in run_with_gpu(gpu_wrapper, 0.3)["gpu"]["name"]
