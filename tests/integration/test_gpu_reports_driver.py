"""Public reports on failing, lying and hanging drivers, each as a task that would show the defect.

The number in a test's name is that of the report.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.replay import Replay
from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]

BUSY = "device 0 name=A\nseries 0 util 0 60\nseries 0 mem 0 4000\n"


def run_real(wrapper: Wrapper, script: str) -> tuple[int, dict[str, Any]]:
    """Run a shell script on a driver that was busy for long; return its status and the trace."""
    at = str(time.monotonic_ns() - 60 * 10**9)
    return wrapper.run("sh", "-c", script, NVMLMOCK_T0=at).returncode, wrapper.trace()


def gpu_notes(trace: dict[str, Any]) -> list[str]:
    return [note for note in trace["probe"]["notes"] if not note.startswith("cgroup:")]


def test_rows_50_51_67_version_mismatch_at_start_is_a_note(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    """The first reports are tensorpack/tensorpack/issues/1244 and rapidsai/dask-cuda/issues/949.

    The third is Syllo/nvtop/issues/95.
    """
    scenario(f"{BUSY}fail nvmlInit* code=LIB_RM_VERSION_MISMATCH\n")
    status, trace = run_real(gpu_wrapper, "sleep 0.3; exit 7")
    assert status == 7
    assert "gpu" not in trace
    [note] = gpu_notes(trace)
    assert note.startswith("NVML could not be initialised: ")


def test_row_52_version_mismatch_amid_the_task_keeps_what_was_read(replay: Replay) -> None:
    """See github.com/mozilla/translations/issues/1167: updated under running tasks."""
    result = replay.run(f"{BUSY}fail nvml* from=90.5 code=LIB_RM_VERSION_MISMATCH\n", seconds=60)
    [device] = result["gpu"]["devices"]
    assert (device["pct"], device["avg_mem"], device["lost_at_ms"]) == (60, 4000, 31000)
    assert result["probe"]["notes"] == ["the driver stopped answering during the task"]
    assert [call.at_s for call in replay.calls() if call.at_s > 91] == []


def test_row_53_a_lost_device_does_not_hide_the_other(replay: Replay) -> None:
    """See github.com/rossumai/nvgpu/issues/6."""
    other = "device 1 name=B\nfail nvmlDevice*Index* dev=1 code=GPU_IS_LOST\n"
    result = replay.run(BUSY + other, seconds=20)
    assert [device["name"] for device in result["gpu"]["devices"]] == ["A"]
    assert result["gpu"]["pct"] == 60
    [note] = result["probe"]["notes"]
    assert note.startswith("a device could not be opened: ")


def test_row_54_lost_access_ends_what_is_known(replay: Replay) -> None:
    """See github.com/NVIDIA/nvidia-container-toolkit/issues/48: nothing but 999 from then on."""
    result = replay.run(f"{BUSY}fail nvml* from=63.5 code=UNKNOWN\n", seconds=30)
    [device] = result["gpu"]["devices"]
    assert (device["pct"], device["avg_mem"]) == (60, 4000)
    assert 0.05 <= device["coverage"] <= 3.5 / 30
    assert "energy_mj" not in device


def test_row_55_nvml_is_not_initialised_again(replay: Replay) -> None:
    """See github.com/NVIDIA/nvidia-container-toolkit/issues/251: re-initialising does not help."""
    replay.run(f"{BUSY}fail nvml* from=63 code=UNKNOWN\n", seconds=30)
    assert [call.at_s for call in replay.calls() if "Init" in call.function] == [60.0]


@pytest.mark.parametrize("source", ["", "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"])
def test_row_56_three_bad_seconds_are_survived(replay: Replay, source: str) -> None:
    """See github.com/utkuozdemir/nvidia_gpu_exporter/issues/65."""
    bad = "fail nvmlDevice* from=74.5 to=77.5 code=UNKNOWN\n"
    [device] = replay.run(BUSY + source + bad, seconds=60)["gpu"]["devices"]
    assert (device["pct"], device["avg_mem"]) == (60, 4000)
    assert device["coverage"] > 1 - 4 / 60
    assert "lost_at_ms" not in device


def test_row_58_an_init_that_never_returns_costs_nothing(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    """See github.com/NVIDIA/go-nvml/issues/152."""
    scenario(f"{BUSY}hang nvmlInit*\n")
    status, trace = run_real(gpu_wrapper, "sleep 0.3; exit 7")
    assert status == 7
    assert "gpu" not in trace
    assert gpu_notes(trace) == ["the driver gave no reading before the task ended"]


def test_rows_59_60_61_a_hang_amid_the_task_is_told(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    """The reports are leptonai/gpud/pull/117, NVIDIA/NVSentinel/issues/1576 and others.

    How long each function may hang is in test_gpu_robust.py.
    """
    scenario(f"{BUSY}hang nvmlDeviceGetMemoryInfo* from=60.9\n")
    status, trace = run_real(gpu_wrapper, "sleep 1.6; exit 7")
    assert status == 7
    assert (trace["gpu"]["pct"], trace["gpu"]["avg_mem"]) == (60, 4000)
    assert gpu_notes(trace) == [
        "the driver did not answer at the end: the GPU figures are of the time before"
    ]


def test_a_list_that_hangs_at_the_end_leaves_open_who_else_was_there(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario(f"{BUSY}hang nvmlDeviceGet*RunningProcess* from=60.9\n")
    _, trace = run_real(gpu_wrapper, "sleep 1.6")
    assert trace["gpu"]["avg_mem"] == 4000
    assert "shared" not in trace["probe"]["scope"]
    [device] = trace["gpu"]["devices"]
    assert "others" not in device
    assert "at the end" in device["absent"]["others"]


def test_rows_62_63_64_65_garbage_text_is_still_json(replay: Replay) -> None:
    """The reports are gpuopenanalytics/pynvml/issues/53 and wookayin/gpustat/issues/170.

    Two more are XuehaiPan/nvitop/issues/127 and mlco2/codecarbon/issues/697.
    """
    gpu = replay.run(f"{BUSY}garbage name 0\ngarbage driver\n", seconds=20)["gpu"]
    assert "\ufffd" in gpu["name"]
    assert "\ufffd" in gpu["driver"]
    assert gpu["pct"] == 60


def test_row_66_the_longest_name_arrives_whole(replay: Replay) -> None:
    """See github.com/dask/distributed/pull/7563: as many bytes as there can be."""
    longest = "N" * 95
    named = BUSY.replace("name=A", f"name={longest}")
    for endless in ("", "garbage endless 0\n"):  # with its end, and without
        gpu = replay.run(named + endless, seconds=5, CUDA_VISIBLE_DEVICES="0")["gpu"]
        assert gpu["name"] == gpu["devices"][0]["name"] == longest


@pytest.mark.parametrize("linked", [False, True])
def test_row_68_the_toolkits_stub_is_refused(
    gpu_wrapper: Wrapper, mock_library: Path, tmp_path: Path, *, linked: bool
) -> None:
    """See github.com/Syllo/nvtop/issues/225. A link to it, as people lay it, is refused as well."""
    stub = tmp_path / "lib64" / "stubs" / "libnvidia-ml.so"
    stub.parent.mkdir(parents=True)
    shutil.copy(mock_library, stub)
    if linked:
        link = tmp_path / "lib" / "libnvidia-ml.so.1"
        link.parent.mkdir()
        link.symlink_to(stub)
        stub = link
    gpu_wrapper.run("sleep", "0.3", options=["--nvml-library", str(stub)])
    [note] = gpu_notes(gpu_wrapper.trace())
    assert "the CUDA toolkit's stub library" in note


def test_a_directory_that_only_begins_like_the_stubs_is_none(
    gpu_wrapper: Wrapper, scenario: Scenario, mock_library: Path, tmp_path: Path
) -> None:
    scenario(BUSY)
    library = tmp_path / "stubs-of-mine" / "libnvidia-ml.so.1"
    library.parent.mkdir()
    shutil.copy(mock_library, library)
    gpu_wrapper.run("sleep", "0.3", options=["--nvml-library", str(library)])
    assert "gpu" in gpu_wrapper.trace()


def test_row_69_a_library_that_crashes_is_not_the_tasks_end(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    """See github.com/microsoft/WSL/issues/11277."""
    scenario(f"{BUSY}crash nvmlDeviceGetCount*\n")
    status, trace = run_real(gpu_wrapper, "sleep 0.3; exit 7")
    assert status == 7
    assert "gpu" not in trace
    assert gpu_notes(trace)
