"""Public reports of wrong GPU memory, each as a scenario; rows as in the table of reports."""

from typing import Any

import pytest

from helpers.replay import TASK, Host, Replay

MEMORY_KEYS = {"mem", "pct_mem", "peak_mem", "avg_mem", "peak_mem_used", "memory_source"}
NO_PROCESS = Host()
OWN = Host(parents={11: TASK, 12: 11})


def device_of(replay: Replay, scenario: str, host: Host = NO_PROCESS) -> dict[str, Any]:
    [device] = replay.run(scenario, seconds=60, host=host)["gpu"]["devices"]
    assert isinstance(device, dict)
    return device


def idle_with(reserved_mib: int, version: str = "580.126.09") -> str:
    return (
        f"driver version={version}\n"
        f"device 0 mem_mib=40960 reserved_mib={reserved_mib}\nseries 0 mem 0 8\n"
    )


def test_row_1_what_the_driver_reserves_is_not_the_tasks(replay: Replay) -> None:
    device = device_of(replay, idle_with(308))
    assert (device["avg_mem"], device["peak_mem_used"], device["mem"]) == (8, 8, 40960)


def test_row_2_driver_510_counts_what_it_reserves_in_version_1_only(replay: Replay) -> None:
    assert device_of(replay, idle_with(308, "510.108.03"))["avg_mem"] == 8


def test_row_3_driver_535_is_read_by_version_2(replay: Replay) -> None:
    device = device_of(replay, idle_with(513, "535.129.03"))
    assert (device["avg_mem"], device["memory_source"]) == (8, "nvml_memory_v2")


def test_row_4_an_idle_device_does_not_read_what_it_reserves(replay: Replay) -> None:
    device = device_of(replay, idle_with(904))
    assert device["peak_mem_used"] == device["mem_used_at_start"] == 8


def test_row_5_the_version_word_is_right(replay: Replay) -> None:
    device_of(replay, idle_with(0))
    calls = [call for call in replay.calls() if call.function == "nvmlDeviceGetMemoryInfo_v2"]
    assert {call.outcome for call in calls} == {"0"}


def test_row_6_version_2_fails_and_version_1_serves(replay: Replay) -> None:
    device = device_of(replay, idle_with(308) + "fail nvmlDeviceGetMemoryInfo_v2 code=UNKNOWN\n")
    assert (device["avg_mem"], device["memory_source"]) == (316, "nvml_memory_v1")


def test_row_7_the_two_versions_are_never_mixed(replay: Replay) -> None:
    broken = "fail nvmlDeviceGetMemoryInfo_v2 from=80 code=UNKNOWN\n"
    device = device_of(replay, idle_with(308) + broken)
    assert device["peak_mem_used"] == 8
    assert "nvmlDeviceGetMemoryInfo" not in {call.function for call in replay.calls()}


def test_row_8_what_an_interposer_fills_wrongly(replay: Replay) -> None:
    rest = "mem_mib=1000 reserved_mib=10\nseries 0 mem 0 100\n"
    assert device_of(replay, f"device 0 memory_v2=free_0 {rest}")["avg_mem"] == 100
    served = device_of(replay, f"device 0 memory_v2=over {rest}")
    assert (served["avg_mem"], served["memory_source"]) == (110, "nvml_memory_v1")
    both = device_of(replay, f"device 0 memory_v1=over memory_v2=over {rest}")
    assert MEMORY_KEYS.isdisjoint(both)
    assert both["absent"]["mem"] == "the driver's figures cannot be true"
    ones = device_of(replay, f"device 0 memory_v1=all_ones memory_v2=all_ones {rest}")
    assert MEMORY_KEYS.isdisjoint(ones)


def test_row_9_managed_memory_is_in_the_devices_figure_alone(replay: Replay) -> None:
    scenario = "device 0 mem_mib=81920\nseries 0 mem 0 59392\nproc 0 pid=11 mem_mib=5120\n"
    device = device_of(replay, scenario, host=OWN)
    assert device["peak_mem_used"] == 59392
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (5120, "nvml_processes")


NOT_SUPPORTED = "device 0 name=GB10\nfail nvmlDeviceGetMemoryInfo* code=NOT_SUPPORTED\n"


def test_row_10_memory_that_is_not_supported_is_absent_with_a_reason(replay: Replay) -> None:
    device = device_of(replay, NOT_SUPPORTED)
    assert MEMORY_KEYS.isdisjoint(device)
    assert "not tell it for this device" in device["absent"]["mem"]
    calls = [call for call in replay.calls() if "MemoryInfo" in call.function]
    assert len(calls) == 2  # each version once: what is not supported is not asked for again


@pytest.mark.parametrize(
    "line",
    [
        'name="NVIDIA GB10" memory_v1=total_0 memory_v2=total_0 mem_mib=1000',
        'name="NVIDIA GB10" mem_mib=122880',
        'name="Orin (nvgpu)" mem_mib=100000',
    ],
    ids=["total of 0", "total of the host", "nearly that"],
)
def test_row_11_the_hosts_memory_is_not_the_devices(replay: Replay, line: str) -> None:
    host = Host(mem_total_kib=120 << 20)
    device = device_of(replay, f"device 0 {line}\nseries 0 mem 0 900\n", host=host)
    assert MEMORY_KEYS.isdisjoint(device)
    assert "mem_used_at_start" not in device
    assert device["unified_memory"] is True
    assert "the host's" in device["absent"]["mem"]


def test_row_11_a_card_as_large_as_its_host_has_its_own_memory(replay: Replay) -> None:
    scenario = "device 0 name=T4 mem_mib=16384\nseries 0 mem 0 900\n"
    device = device_of(replay, scenario, host=Host(mem_total_kib=16 << 20))
    assert device["avg_mem"] == 900
    assert "unified_memory" not in device


def test_row_12_processes_still_tell_the_tasks_own_memory(replay: Replay) -> None:
    device = device_of(
        replay, NOT_SUPPORTED + "proc 0 pid=11 mem_mib=43\nproc 0 pid=12 mem_mib=18\n", host=OWN
    )
    assert device["own_peak_mem_used"] == 61
    assert MEMORY_KEYS.isdisjoint(device)


def test_row_13_no_figure_of_the_system_stands_in(replay: Replay) -> None:
    result = replay.run(NOT_SUPPORTED, seconds=60, host=Host(mem_total_kib=120 << 20))
    assert MEMORY_KEYS.isdisjoint(result["gpu"])
    assert "gpu.memory" not in result["probe"]["sources"]
    [device] = result["gpu"]["devices"]
    beside = {"own_peak_mem_used", "mem_used_at_start", "mem_coverage"}
    assert (MEMORY_KEYS | beside).isdisjoint(device)


def test_row_14_everything_else_of_such_a_device_is_there(replay: Replay) -> None:
    device = device_of(replay, NOT_SUPPORTED + "series 0 util 0 60\nseries 0 memutil 0 20\n")
    assert (device["pct"], device["avg_mem_bw_util"], device["energy_mj"]) == (60, 20, 4_200_000)


def test_row_15_all_ones_memory_is_not_a_number(replay: Replay) -> None:
    device = device_of(replay, "device 0\nproc 0 pid=11 mem=na\n", host=OWN)
    assert {"own_peak_mem_used", "own_mem_source"}.isdisjoint(device)
    assert "single processes" in device["absent"]["own_peak_mem_used"]


def test_row_16_the_devices_memory_stays_where_processes_tell_none(replay: Replay) -> None:
    scenario = "device 0\nseries 0 mem 0 700\nproc 0 pid=11 mem=na\nproc 0 pid=4200001 mem=na\n"
    device = device_of(replay, scenario, host=Host(parents={11: TASK, 4200001: 1}))
    assert device["avg_mem"] == 700
    assert device["others"] == {"count": 1}  # and no mem_used


def test_row_17_all_ones_are_never_summed(replay: Replay) -> None:
    both = "device 0\nproc 0 pid=11 mem=na\nproc 0 pid=12 mem=na\n"
    assert "own_peak_mem_used" not in device_of(replay, both, host=OWN)
    one = "device 0\nproc 0 pid=11 mem=na\nproc 0 pid=12 mem_mib=10\n"
    assert "own_peak_mem_used" not in device_of(replay, one, host=OWN)  # not the half of it
