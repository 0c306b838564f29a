"""Whole tasks through the real NVML session, in virtual time: figures are exact, nothing waits."""

import time
from itertools import pairwise
from statistics import mean

import pytest

from helpers.replay import Host, Replay

PERIOD_S = 0.167
CONSTANT = """
device 0 name="Mock Tesla T4" mem_mib=16384 reserved_mib=300
series 0 util 0 60
series 0 memutil 0 25
series 0 mem 0 4000
"""
FIGURES = ("pct", "peak", "avg_mem_bw_util", "peak_mem_bw_util", "avg_mem", "peak_mem_used")


def devices(count: int) -> str:
    """Write a scenario of devices with loads and memory of their own."""
    return "".join(
        f"device {n} mem_mib=1000\nseries {n} util 0 {n * 5}\nseries {n} mem 0 {n * 10}\n"
        for n in range(count)
    )


def test_a_constant_load_reads_as_it_is(replay: Replay) -> None:
    result = replay.run(CONSTANT, seconds=600, host=Host())
    gpu, probe = result["gpu"], result["probe"]
    assert (gpu["name"], gpu["driver"], gpu["mem"]) == ("Mock Tesla T4", "580.126.09", 16384)
    assert [gpu[key] for key in FIGURES] == [60, 60, 25, 25, 4000, 4000]
    assert gpu["pct_mem"] == gpu["peak_mem"] == 100 * 4000 / 16384
    [device] = gpu["devices"]
    assert [device[key] for key in FIGURES] == [gpu[key] for key in FIGURES]
    assert device["energy_mj"] == 600 * 70_000
    assert set(device["profile"]["pct"]) == {60}
    assert 600 - PERIOD_S <= gpu["active_time"] / 1000 <= 600
    assert device["coverage"] == probe["coverage"]
    assert 1 - PERIOD_S / 600 <= probe["coverage"] <= 1
    assert probe["sources"] == {"gpu.utilization": "nvml_samples", "gpu.memory": "nvml_memory_v2"}
    scope = {"gpus": "all_visible", "confidence": "exact", "shared": False}
    assert probe["scope"] == scope
    assert (probe["mock"], probe["notes"]) == (True, [])


def test_a_long_task_takes_no_time(replay: Replay) -> None:
    start_s = time.monotonic()
    replay.run(devices(1), seconds=600)
    assert time.monotonic() - start_s < 10  # some milliseconds, on a machine that is not busy


def test_memory_follows_fusions_arithmetic_to_the_bit(replay: Replay) -> None:
    """The byte mean is cut to an integer; MiB and percent follow from it, the peak from MiB."""
    total_mib = 15109
    scenario = f"device 0 mem_mib={total_mib}\nseries 0 mem linear 0 0 100 15000\n"
    gpu = replay.run(scenario, seconds=10.5, start_s=0)["gpu"]
    total = total_mib << 20
    read_at_s = [*range(11), 10.5]  # straight from reading to reading, the last is the end
    used = [int(150 * t * 2**20) for t in read_at_s]
    mean = (2 * (used[0] + 2 * sum(used[1:10]) + used[10]) + used[10] + used[11]) // 42
    assert gpu["avg_mem"] == mean >> 20
    assert gpu["pct_mem"] == 100.0 * mean / total
    assert gpu["peak_mem_used"] == max(used) >> 20 == 1575
    assert gpu["peak_mem"] == 100.0 * (1575 << 20) / total


def test_a_lost_device_keeps_what_was_known_of_it(replay: Replay) -> None:
    result = replay.run(f"{CONSTANT}lost 0 t=90.25\n", seconds=60)
    [device] = result["gpu"]["devices"]
    assert device["lost_at_ms"] == 31000  # the first reading after 30.25 s
    assert device["pct"] == 60
    assert 0.4 <= device["coverage"] <= 30.25 / 60
    assert device["avg_mem"] == 4000
    assert result["probe"]["notes"] == [
        "device 0 (GPU-6d6f636b-0000-4000-8000-000000000000) was lost during the task"
    ]
    after = [call for call in replay.calls() if call.at_s > 91]
    assert after == []  # it is not asked again


def test_a_ring_that_runs_dry_is_filled_with_idle_time(replay: Replay) -> None:
    scenario = (
        "driver dry_when_idle=1\ndevice 0\n"
        "series 0 util 60 80 80 0 100 80 110 0\n"  # busy for 20 s, then from 40 s to 50 s
    )
    [device] = replay.run(scenario, seconds=60)["gpu"]["devices"]
    assert device["active_time"] / 1000 == pytest.approx(30, abs=4 * PERIOD_S)
    assert device["coverage"] == pytest.approx(1, abs=4 * PERIOD_S / 60)
    assert (device["pct"], device["peak"]) == (40, 80)


@pytest.mark.parametrize("clock", ["epoch", "boot", "relative"])
def test_the_drivers_clock_changes_no_figure(replay: Replay, clock: str) -> None:
    steps = "device 0\nseries 0 util 60 100 63.293 0\n"  # until period 379 ends
    result = replay.run(f"driver clock={clock}\n{steps}", seconds=20, start_s=60.12)
    [device] = result["gpu"]["devices"]
    assert device["active_time"] == 19 * 167  # the task starts with period 361
    assert device["coverage"] > 1 - PERIOD_S / 20


def test_sixteen_devices_are_told_apart(replay: Replay) -> None:
    result = replay.run(devices(16), seconds=60)
    found = result["gpu"]["devices"]
    assert [device["index"] for device in found] == list(range(16))
    assert [device["pct"] for device in found] == [n * 5 for n in range(16)]
    assert [device["avg_mem"] for device in found] == [n * 10 for n in range(16)]
    assert result["gpu"]["pct"] == 38  # 37.5
    assert result["gpu"]["avg_mem"] == result["gpu"]["peak_mem_used"] == sum(range(16)) * 10
    assert min(device["coverage"] for device in found) == result["probe"]["coverage"] > 0.99


def test_a_slow_driver_makes_no_hole_in_what_is_known(replay: Replay) -> None:
    slow = f"{CONSTANT}delay nvmlDeviceGetMemoryInfo_v2 us=700000\n"
    [device] = replay.run(slow, seconds=60)["gpu"]["devices"]
    assert device["pct"] == 60
    assert device["coverage"] > 1 - PERIOD_S / 60
    assert max(call.at_s for call in replay.calls()) <= 60 + 60 + 0.7


def test_without_a_device_there_is_no_block_but_a_reason(replay: Replay) -> None:
    result = replay.run("driver version=1\n", seconds=60)
    assert "gpu" not in result
    assert result["probe"]["notes"] == ["the driver shows no device here"]
    hidden = replay.run(CONSTANT, seconds=60, CUDA_VISIBLE_DEVICES="-1")
    assert "gpu" not in hidden
    assert hidden["probe"]["scope"]["gpus"] == "cuda_visible_devices"


def test_polls_of_rates_are_out_of_step_with_a_load(replay: Replay) -> None:
    """Polls each second would see one phase of a load that repeats itself each second."""
    seconds, busy_s = 1800, 0.3
    load = " ".join(f"{t} 100 {t + busy_s} 0" for t in range(60 + seconds))
    scenario = f"device 0\nhide nvmlDeviceGetSamples\nseries 0 util {load}\n"
    [device] = replay.run(scenario, seconds=seconds)["gpu"]["devices"]
    assert device["utilization_source"] == "nvml_utilization_rates"
    assert device["pct"] == pytest.approx(100 * busy_s, abs=5)  # 1.1 is to be expected of chance
    polls = [c.at_s for c in replay.calls() if c.function == "nvmlDeviceGetUtilizationRates"]
    gaps = [after - before for before, after in pairwise(polls)][2:-1]  # between open and end
    assert min(gaps) == pytest.approx(0.6, abs=0.05)
    assert max(gaps) == pytest.approx(1.8, abs=0.05)
    assert mean(gaps) == pytest.approx(1.2, abs=0.05)
