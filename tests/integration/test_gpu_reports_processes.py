"""Public reports of wrong processes and their utilization, each as a scenario; rows as in the table
of reports."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from helpers.replay import HOST_NAMESPACE, TASK, Host, Replay

OWN = Host(parents={11: TASK, 12: 11, 13: 12, 21: 1, 22: 21})
THREE = "proc 0 pid=11 mem_mib=100\nproc 0 pid=12 mem_mib=20\nproc 0 pid=13 mem_mib=3\n"
NO_DETAILS = "hide nvmlDeviceGetRunningProcessDetailList\n"
NO_V3 = NO_DETAILS + "hide nvmlDeviceGet*RunningProcesses_v3\n"
PROCESS_LISTS = "RunningProcess"


def run(replay: Replay, scenario: str, host: Host = OWN) -> dict[str, Any]:
    return replay.run(scenario, seconds=100, host=host)


def device_of(replay: Replay, scenario: str, host: Host = OWN) -> dict[str, Any]:
    [device] = run(replay, scenario, host)["gpu"]["devices"]
    assert isinstance(device, dict)
    return device


def own_of(replay: Replay, scenario: str) -> tuple[int | None, Mapping[str, int]]:
    device = device_of(replay, scenario)
    return device.get("own_peak_mem_used"), device["others"]


GARBAGE = "device 0\nseries 0 util 0 80\nproc 0 pid=11 sm=0\ngarbage records 0\n"


def test_rows_18_19_20_21_22_the_drivers_figures_of_single_processes_are_not_used(
    replay: Replay,
) -> None:
    """Garbage records, old ones, lagging first ones, more than 100 %, and zeros on a busy device:
    the device's own utilization needs none of them."""
    device = device_of(replay, GARBAGE)
    assert (device["pct"], device["peak"]) == (80, 80)
    asked = {call.function for call in replay.calls()}
    assert not {name for name in asked if "ProcessUtilization" in name or "ProcessesUtil" in name}


def test_row_27_records_of_32_bytes_from_version_3(replay: Replay) -> None:
    scenario = f"driver process_stride=32\ndevice 0\n{THREE}{NO_DETAILS}"
    assert own_of(replay, scenario) == (123, {"count": 0})


def test_row_28_records_of_16_bytes_from_an_old_driver(replay: Replay) -> None:
    old = NO_V3 + "hide nvmlDeviceGet*RunningProcesses_v2\n"
    assert own_of(replay, f"device 0\n{THREE}{old}") == (123, {"count": 0})
    assert own_of(replay, f"device 0\n{THREE}{NO_V3}") == (123, {"count": 0})


def test_row_29_the_list_of_driver_535_is_preferred(replay: Replay) -> None:
    scenario = f"driver version=535.54.03 process_stride=32\ndevice 0\n{THREE}"
    assert own_of(replay, scenario) == (123, {"count": 0})
    asked = {call.function for call in replay.calls() if PROCESS_LISTS in call.function}
    assert asked == {"nvmlDeviceGetRunningProcessDetailList"}


def test_row_30_records_of_16_bytes_from_version_3(replay: Replay) -> None:
    scenario = f"driver process_stride=16\ndevice 0\n{THREE}{NO_DETAILS}"
    assert own_of(replay, scenario) == (123, {"count": 0})


@pytest.mark.parametrize("versions", ["", NO_DETAILS, NO_V3], ids=["details", "v3", "v2"])
def test_a_process_counts_once_whatever_the_lists_repeat(replay: Replay, versions: str) -> None:
    scenario = f"device 0\nproc 0 pid=11 kind=both mem_mib=100\ngarbage processes 0\n{versions}"
    assert own_of(replay, scenario) == (100, {"count": 0})


def test_processes_of_all_kinds_count(replay: Replay) -> None:
    scenario = (
        "device 0\nproc 0 pid=11 kind=graphics mem_mib=1\nproc 0 pid=12 kind=mps mem_mib=2\n"
        "proc 0 pid=21 kind=mps mem_mib=5\nproc 0 pid=22 kind=compute mem_mib=6\n"
    )
    assert own_of(replay, scenario) == (3, {"count": 2, "mem_used": 11})


def test_more_processes_than_there_was_room_for(replay: Replay) -> None:
    many = "".join(f"proc 0 pid={pid} mem_mib=1\n" for pid in range(1001, 1061))
    host = Host(parents=dict.fromkeys(range(1001, 1061), 1))
    result = run(replay, f"device 0\n{many}", host)
    [device] = result["gpu"]["devices"]
    assert device["others"] == {"count": 60, "mem_used": 60}
    assert result["probe"]["scope"]["shared"] is True


def test_a_list_that_never_fits_is_given_up(replay: Replay) -> None:
    lists = "fail nvmlDeviceGetRunningProcessDetailList code=INSUFFICIENT_SIZE\n"
    result = run(replay, f"device 0\n{THREE}{lists}")
    assert "shared" not in result["probe"]["scope"]
    lists_read = [call for call in replay.calls() if PROCESS_LISTS in call.function]
    assert len(lists_read) <= 4 * 3 * 5  # tries, kinds, polls


def test_a_driver_without_lists_says_nothing_of_processes(replay: Replay) -> None:
    none = "fail nvmlDeviceGet*RunningProcess* code=NOT_SUPPORTED\n"
    result = run(replay, f"device 0\n{THREE}{none}")
    [device] = result["gpu"]["devices"]
    assert {"own_peak_mem_used", "others"}.isdisjoint(device)
    assert "lists no processes" in device["absent"]["own_peak_mem_used"]
    assert "shared" not in result["probe"]["scope"]
    lists_read = [call for call in replay.calls() if PROCESS_LISTS in call.function]
    assert len(lists_read) == 4  # each version of the first list once: without it no other serves


def test_peaks_are_of_one_moment(replay: Replay) -> None:
    """Of 100 s, the polls are at the start, after 30, 60 and 90 s, and at the end."""
    scenario = (
        "device 0\nproc 0 pid=11 t0=60 t1=100 mem_mib=10\nproc 0 pid=12 t0=110 mem_mib=7\n"
        "proc 0 pid=21 t0=60 t1=100 mem_mib=3\nproc 0 pid=22 t0=110 mem_mib=4\n"
    )
    assert own_of(replay, scenario) == (10, {"count": 1, "mem_used": 4})


def test_the_lists_are_read_at_the_start_the_end_and_every_30_s(replay: Replay) -> None:
    run(replay, f"device 0\n{THREE}")
    at_s = {call.at_s for call in replay.calls() if PROCESS_LISTS in call.function}
    assert sorted(at_s) == [60, 90, 120, 150, 160]
    at_the_end = [c for c in replay.calls() if c.at_s == 160 and PROCESS_LISTS in c.function]
    assert len(at_the_end) == 1  # the task waits: compute processes only


def test_a_slow_driver_does_not_keep_the_lists_from_being_read(replay: Replay) -> None:
    slow = "delay nvmlDeviceGetMemoryInfo_v2 us=1500000\n"
    run(replay, f"device 0\n{THREE}{slow}")
    at_s = {round(c.at_s) for c in replay.calls() if PROCESS_LISTS in c.function}
    assert len(at_s) == 5


def test_the_task_that_is_never_seen_has_no_figure_but_a_reason(replay: Replay) -> None:
    device = device_of(replay, "device 0\n")
    assert device["others"] == {"count": 0}
    assert "no process of the task" in device["absent"]["own_peak_mem_used"]


def test_row_45_host_numbers_in_a_container_name_nobody(replay: Replay) -> None:
    scenario = "driver version=525.60.13\ndevice 0\nproc 0 pid=4200001 mem_mib=100\n"
    result = run(replay, scenario, Host(namespace=HOST_NAMESPACE + 100))
    [device] = result["gpu"]["devices"]
    assert {"own_peak_mem_used", "others"}.isdisjoint(device)
    assert "PID namespace" in device["absent"]["own_peak_mem_used"]
    assert "shared" not in result["probe"]["scope"]


def test_rows_46_47_an_empty_list_in_a_container_is_not_an_unshared_device(
    replay: Replay,
) -> None:
    host = Host(namespace=HOST_NAMESPACE + 100)
    result = run(replay, "device 0\nseries 0 util 0 90\n", host)
    [device] = result["gpu"]["devices"]
    assert device["pct"] == 90
    assert "shared" not in result["probe"]["scope"]
    assert "own_peak_mem_used" not in device


def test_row_48_the_tasks_own_process_is_hidden_from_its_container(replay: Replay) -> None:
    scenario = "driver version=535.183.01\ndevice 0\nproc 0 pid=4200001 mem_mib=100\n"
    result = run(replay, scenario, Host(namespace=HOST_NAMESPACE + 100))
    [device] = result["gpu"]["devices"]
    assert "no process has here" in device["absent"]["own_peak_mem_used"]
    assert "shared" not in result["probe"]["scope"]
    assert "others" not in device  # nobody knows whose those without a number here are


def test_row_49_a_number_that_somebody_else_has_here_is_not_the_task(replay: Replay) -> None:
    collision = "device 0\nproc 0 pid=21 mem_mib=100\n"
    here = run(replay, collision, OWN)
    [device] = here["gpu"]["devices"]
    assert "own_peak_mem_used" not in device
    assert device["others"] == {"count": 1, "mem_used": 100}
    old = run(
        replay,
        f"driver version=525.60.13\n{collision}",
        Host(parents=OWN.parents, namespace=HOST_NAMESPACE + 100),
    )
    assert "others" not in old["gpu"]["devices"][0]
    assert "shared" not in old["probe"]["scope"]


def test_others_in_the_same_container_make_a_device_shared(replay: Replay) -> None:
    host = Host(parents=OWN.parents, namespace=HOST_NAMESPACE + 100)
    result = run(replay, "device 0\nproc 0 pid=21\nproc 0 pid=11 mem_mib=5\n", host)
    assert result["probe"]["scope"]["shared"] is True
    assert result["gpu"]["devices"][0]["own_peak_mem_used"] == 5


def test_nobody_is_named(replay: Replay) -> None:
    host = Host(parents={3987654: 1, 3987655: TASK})
    scenario = "device 0\nproc 0 pid=3987654 mem_mib=1\nproc 0 pid=3987655 mem_mib=1\n"
    result = run(replay, scenario, host)
    assert result["probe"]["scope"]["shared"] is True
    assert "398765" not in str(result)


def test_numbers_of_another_namespaces_proc_are_nobodys(replay: Replay) -> None:
    """Processes 11 to 22 are there, but they are not those that the driver names."""
    scenario = f"device 0\n{THREE}proc 0 pid=21 mem_mib=7\n"
    inner = Host(parents=OWN.parents, namespace=HOST_NAMESPACE + 1)
    assert "own_peak_mem_used" in device_of(replay, scenario, inner)
    device = device_of(replay, scenario, replace(inner, foreign=True))
    assert "own_peak_mem_used" not in device
    assert "others" not in device
    assert "PID namespace" in device["absent"]["own_peak_mem_used"]
