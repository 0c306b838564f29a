"""Memory that nobody read is not made up; what is said to be from before the task is so."""

from typing import Any

import pytest

from helpers.replay import TASK, Host, Replay

DEVICE = "device 0 name=T4 mem_mib=16384 reserved_mib=450\nseries 0 util 60 50\n"
HOLE = "fail nvmlDeviceGetMemoryInfo* from=62 to=110 code=UNKNOWN\n"
HOST = Host(parents={11: TASK, 500: 1}, mem_total_kib=120 << 20)


def device_of(replay: Replay, scenario: str, *, seconds: float = 60) -> dict[str, Any]:
    device = replay.run(scenario, seconds=seconds, host=HOST)["gpu"]["devices"][0]
    assert isinstance(device, dict)
    return device


def test_a_hole_is_not_in_the_mean(replay: Replay) -> None:
    """2000 MiB until it begins; 6000 in its middle, and from its end on."""
    device = device_of(replay, f"{DEVICE}series 0 mem 0 2000 62 6000 109 6000\n{HOLE}")
    held_before = 1
    held_after = 60 * device["mem_coverage"] - held_before
    assert 7 <= held_after <= 10  # it is asked again within two seconds of the hole's end
    expected = (2000 * held_before + 6000 * held_after) / (held_before + held_after)
    assert device["avg_mem"] == pytest.approx(expected, abs=1)


def test_readings_without_holes_cover_the_task(replay: Replay) -> None:
    assert device_of(replay, f"{DEVICE}series 0 mem 0 2000\n")["mem_coverage"] == 1.0


def test_two_missing_readings_are_bridged(replay: Replay) -> None:
    device = device_of(replay, f"{DEVICE}series 0 mem 0 2000\n" + HOLE.replace("110", "64"))
    assert (device["avg_mem"], device["mem_coverage"]) == (2000, 1.0)


def test_a_call_that_takes_long_leaves_a_hole(replay: Replay) -> None:
    stall = "delay nvmlDeviceGetMemoryInfo_v2 from=80 to=80.5 us=20000000\n"
    device = device_of(replay, f"{DEVICE}series 0 mem 0 1000 81 9000 99 1000\n{stall}")
    assert device["avg_mem"] == 1000
    assert device["mem_coverage"] == pytest.approx(40 / 60, abs=2 / 60)


def test_a_driver_that_is_slow_throughout_is_not_full_of_holes(replay: Replay) -> None:
    slow = "delay nvmlDeviceGetMemoryInfo_v2 us=5000000\n"
    device = device_of(replay, f"{DEVICE}series 0 mem 0 1000\n{slow}")
    assert device["avg_mem"] == 1000
    assert device["mem_coverage"] > 0.7


@pytest.mark.parametrize("code", ["TIMEOUT", "UNKNOWN", "INVALID_ARGUMENT"])
@pytest.mark.parametrize("calls", ["1", "1-2"])
def test_failures_that_pass_do_not_choose_the_older_call(
    replay: Replay, code: str, calls: str
) -> None:
    once = f"fail nvmlDeviceGetMemoryInfo_v2 call={calls} code={code}\n"
    device = device_of(replay, f"{DEVICE}series 0 mem 0 2000\n{once}")
    assert (device["avg_mem"], device["memory_source"]) == (2000, "nvml_memory_v2")


@pytest.mark.parametrize("seconds", [0.2, 1.5, 60])
def test_a_newer_call_that_never_works_is_replaced(replay: Replay, seconds: float) -> None:
    never = "fail nvmlDeviceGetMemoryInfo_v2 code=UNKNOWN\n"
    device = device_of(replay, f"{DEVICE}series 0 mem 0 2000\n{never}", seconds=seconds)
    assert (device["avg_mem"], device["memory_source"]) == (2450, "nvml_memory_v1")


def test_memory_before_the_task_is_that_of_the_first_moment(replay: Replay) -> None:
    device = device_of(replay, f"{DEVICE}series 0 mem 0 700 60.05 5000\nproc 0 pid=11 t0=60\n")
    assert device["mem_used_at_start"] == 700


def test_a_late_first_reading_with_the_task_on_the_device_is_not_before_it(replay: Replay) -> None:
    late = "delay nvmlInit* us=300000\n"
    base = f"{DEVICE}series 0 mem 0 700 60.05 5000\n{late}"
    result = replay.run(f"{base}proc 0 pid=11 t0=60.05\n", seconds=60, interval_ms=500, host=HOST)
    assert "mem_used_at_start" not in result["gpu"]["devices"][0]
    result = replay.run(f"{base}proc 0 pid=500 t0=60.05\n", seconds=60, interval_ms=500, host=HOST)
    assert result["gpu"]["devices"][0]["mem_used_at_start"] == 5000
    nobody_knows = f"{base}fail nvmlDeviceGet*RunningProcess* code=NOT_SUPPORTED\n"
    result = replay.run(nobody_knows, seconds=60, interval_ms=500, host=HOST)
    assert "mem_used_at_start" not in result["gpu"]["devices"][0]


def test_a_reading_that_comes_much_later_says_nothing_of_the_start(replay: Replay) -> None:
    late = "fail nvmlDeviceGetMemoryInfo_v2 to=62.5 code=UNKNOWN\n"
    device = device_of(replay, f"{DEVICE}series 0 mem 0 700\n{late}".replace("_v2", "*"))
    assert device["avg_mem"] == 700
    assert "mem_used_at_start" not in device


def test_a_total_of_0_is_asked_again(replay: Replay) -> None:
    nothing = "device 0 name=T4 memory_v1=total_0 memory_v2=total_0\nseries 0 mem 0 9\n"
    device = device_of(replay, nothing)
    assert {"unified_memory", "mem", "avg_mem"}.isdisjoint(device)
    assert "cannot be true" in device["absent"]["mem"]
    assert len([call for call in replay.calls() if "MemoryInfo" in call.function]) > 40


@pytest.mark.parametrize(
    ("name", "mem_gib", "unified"),
    [
        ("NVIDIA GB10", 91, True),
        ("NVIDIA GB10", 89, False),  # three quarters of the host's are 90
        ("NVIDIA GH200 480GB", 96, False),
    ],
)
def test_integrated_is_what_shows_most_of_the_hosts_memory(
    replay: Replay, name: str, mem_gib: int, unified: bool
) -> None:
    device = device_of(
        replay, f'device 0 name="{name}" mem_mib={mem_gib * 1024}\nseries 0 mem 0 9\n'
    )
    assert device.get("unified_memory", False) is unified
    assert ("avg_mem" in device) is not unified
