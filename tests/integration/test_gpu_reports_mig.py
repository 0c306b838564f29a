"""Divided devices (MIG) as users of other tools reported them, as whole tasks in virtual time.

The numbers are those of the public reports: 31 dask/distributed#8739, 32 Syllo/nvtop#256,
33 NordicHPC/sonar#247, 34 wookayin/gpustat#102, 35 NVIDIA/dcgm-exporter#443.
"""

from typing import Any

import pytest

from helpers.replay import TASK, Host, Replay

UUID = "MIG-6d6f636b-0000-4000-8000-{:06d}{:06d}"
PARENT = "GPU-6d6f636b-0000-4000-8000-{:012d}"
AMPERE = """
device 0 name="Mock A100" mem_mib=40960
mig 0 0 gi=7 mem_mib=4864
series 0 mem 0 5000
series 0.0 mem 0 123
"""
SPARSE = """
device 0 name="Mock H100" gpm=1 mem_mib=81920
mig 0 0 gi=7 mem_mib=9728
mig 0 2 gi=3 ci=1 mem_mib=40448 slices=4 compute_slices=2
mig 0 5 gi=5 mem_mib=9728
series 0.0 util 0 100
series 0.2 util 0 12.5
series 0.2 sm 0 6.25
series 0.5 util 0 50
series 0.0 mem 0 1000
series 0.2 mem 0 2000
series 0.5 mem 0 3000
"""
UTILIZATION = {"active_time", "pct", "peak", "coverage", "samples", "utilization_source", "profile"}
NOT_TOLD = "the driver tells no utilization of MIG instances on this device"


def uuids(result: dict[str, Any]) -> list[str]:
    return [device["uuid"] for device in result.get("gpu", {}).get("devices", [])]


@pytest.mark.parametrize("load", [0, 40, 100], ids=["row 31 idle", "row 31", "row 32 saturated"])
def test_rows_31_and_32_utilization_is_absent_and_never_0(replay: Replay, load: int) -> None:
    result = replay.run(AMPERE + f"series 0.0 util 0 {load}\n", seconds=60)
    [device] = result["gpu"]["devices"]
    assert device["absent"]["pct"] == NOT_TOLD
    assert not UTILIZATION & (set(device) | set(result["gpu"]) - {"devices"})
    assert "coverage" not in result["probe"]
    assert "gpu.utilization" not in result["probe"]["sources"]
    assert result["probe"]["notes"] == [NOT_TOLD]
    assert (device["mem"], device["avg_mem"], device["peak_mem_used"]) == (4864, 123, 123)
    assert (result["gpu"]["mem"], result["gpu"]["avg_mem"]) == (4864, 123)
    refused = [call for call in replay.calls() if call.outcome == "3"]
    assert len(refused) <= 6  # what the driver will never tell is asked for once


def test_row_33_indices_have_gaps(replay: Replay) -> None:
    result = replay.run(SPARSE, seconds=60)
    devices = result["gpu"]["devices"]
    assert uuids(result) == [UUID.format(0, index) for index in (0, 2, 5)]
    assert [device["pct"] for device in devices] == [100, 13, 50]  # of the instance
    assert [device["avg_mem"] for device in devices] == [1000, 2000, 3000]
    assert [device["index"] for device in devices] == [0, 0, 0]
    assert devices[1]["mig"] == {
        "parent_uuid": PARENT.format(0),
        **{"gi": 3, "ci": 1, "slices": 4, "compute_slices": 2},
    }
    assert {device["utilization_source"] for device in devices} == {"nvml_gpm"}
    assert devices[1]["name"] == "Mock H100 MIG 4g.39gb"
    assert devices[1]["sm_activity_pct"] == 6.25
    assert "sm_activity_pct" not in devices[0]
    assert result["gpu"]["avg_mem"] == 6000


def test_what_is_the_parents_is_not_the_instances(replay: Replay) -> None:
    scenario = SPARSE + "series 0 power 0 300\nseries 0 throttle 0 0x04\n"
    for device in replay.run(scenario, seconds=60)["gpu"]["devices"]:
        assert not {"energy_mj", "throttle_reasons"} & set(device)


def test_row_34_the_parent_needs_no_permission(replay: Replay) -> None:
    scenario = AMPERE.replace("mem_mib=40960", "mem_mib=40960 mig_parent_memory=0")
    result = replay.run(scenario, seconds=60)
    [device] = result["gpu"]["devices"]
    assert (device["mem"], device["avg_mem"]) == (4864, 123)
    assert result["probe"]["notes"] == [NOT_TOLD]


def test_row_35_a_device_divided_into_nothing(replay: Replay) -> None:
    result = replay.run("device 0 mig=on\n", seconds=60)
    assert "gpu" not in result
    assert result["probe"]["notes"] == [
        "the device is divided (MIG), but into no instance that can be used here"
    ]
    beside = replay.run("device 0 mig=on\ndevice 1\nseries 1 util 0 20\n", seconds=60)
    assert uuids(beside) == [PARENT.format(1)]
    assert beside["gpu"]["pct"] == 20


def test_a_device_that_could_be_divided_is_whole(replay: Replay) -> None:
    result = replay.run("device 0 mig=off\nseries 0 util 0 20\n", seconds=60)
    assert uuids(result) == [PARENT.format(0)]
    assert "mig" not in result["gpu"]["devices"][0]
    assert result["gpu"]["pct"] == 20


def test_memory_that_cannot_be_read_is_known_from_the_division(replay: Replay) -> None:
    result = replay.run(AMPERE + "fail nvmlDeviceGetMemoryInfo* code=NO_PERMISSION\n", seconds=60)
    [device] = result["gpu"]["devices"]
    assert device["mem"] == 4864
    assert not {"avg_mem", "peak_mem_used", "pct_mem", "memory_source"} & set(device)
    assert device["absent"]["avg_mem"] == "the driver does not permit it"
    assert "mem" not in device["absent"]


@pytest.mark.parametrize(
    ("visible", "indices", "confidence"),
    [
        (None, [0, 2, 5], "ambiguous"),
        ("0", [0], "exact"),
        (PARENT.format(0), [0], "exact"),
        (UUID.format(0, 2), [2], "exact"),
        (f"{UUID.format(0, 5)},{UUID.format(0, 2)}", [5, 2], "ambiguous"),
        (f"MIG-{PARENT.format(0)}/3/1", [2], "exact"),
        (f"MIG-{PARENT.format(0)}/7/0,MIG-{PARENT.format(0)}/5/0", [0, 5], "ambiguous"),
        ("", [], "exact"),
    ],
)
def test_which_instances_are_the_tasks(
    replay: Replay, visible: str | None, indices: list[int], confidence: str
) -> None:
    if visible is None:
        result = replay.run(SPARSE, seconds=10)
    else:
        result = replay.run(SPARSE, seconds=10, CUDA_VISIBLE_DEVICES=visible)
    assert uuids(result) == [UUID.format(0, index) for index in indices]
    assert result["probe"]["scope"]["confidence"] == confidence


def test_the_option_takes_the_older_names_of_instances(replay: Replay) -> None:
    result = replay.run(SPARSE, seconds=10, gpus=f"MIG-{PARENT.format(0)}/3/1")
    assert uuids(result) == [UUID.format(0, 2)]
    assert result["probe"]["scope"]["confidence"] == "exact"


def test_processes_are_those_of_the_instance(replay: Replay) -> None:
    """Process 101 is the task's, 200 and 300 are not."""
    processes = (
        "proc 0 pid=101 mig=2 mem_mib=700\n"
        "proc 0 pid=200 mig=2 mem_mib=50\n"
        "proc 0 pid=300 mig=5 mem_mib=60\n"
    )
    host = Host(parents={101: TASK, 200: 1, 300: 1})
    visible = f"{UUID.format(0, 2)},{UUID.format(0, 5)}"
    result = replay.run(SPARSE + processes, seconds=60, host=host, CUDA_VISIBLE_DEVICES=visible)
    first, second = result["gpu"]["devices"]
    assert first["own_peak_mem_used"] == 700
    assert first["others"] == {"count": 1, "mem_used": 50}
    assert second["others"] == {"count": 1, "mem_used": 60}
    assert "own_peak_mem_used" not in second


@pytest.mark.parametrize(
    ("gpus", "indices"), [("all", [0, 2, 5]), ("0", [0, 2, 5]), (UUID.format(0, 5), [5])]
)
def test_instances_by_option(replay: Replay, gpus: str, indices: list[int]) -> None:
    result = replay.run(SPARSE, seconds=10, gpus=gpus, CUDA_VISIBLE_DEVICES="")
    assert uuids(result) == [UUID.format(0, index) for index in indices]
    assert result["probe"]["scope"]["confidence"] == "exact"


def test_sixteen_instances_and_no_more(replay: Replay) -> None:
    """Two devices of 7 instances, one of 3 and a whole one: 18, of which 16 are measured."""
    scenario = "".join(f"device {n} gpm=1\n" for n in range(4))
    divided = [(n, i) for n, count in ((0, 7), (1, 7), (2, 3)) for i in range(count)]
    for n, i in divided:
        scenario += f"mig {n} {i} mem_mib=100\nseries {n}.{i} util 0 {7 * n + i}\n"
    result = replay.run(scenario, seconds=60)
    devices = result["gpu"]["devices"]
    assert uuids(result) == [UUID.format(n, i) for n, i in divided[:16]]
    assert [device["pct"] for device in devices] == list(range(16))
    assert "more than 16 devices: the others are not measured" in result["probe"]["notes"][0]
    after_first_tick = [call for call in replay.calls() if call.at_s > 60]
    assert len(after_first_tick) / 16 / 60 <= 3
