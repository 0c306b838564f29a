"""Accounting mode, where it is on: peaks that no poll can see."""

from collections.abc import Callable
from typing import Any

import pytest

from helpers.replay import TASK, Host, Replay
from helpers.wrapper import Wrapper

OWN = Host(parents={11: TASK, 12: TASK, 21: 1})
DEVICE = "driver accounting=1\ndevice 0 mem_mib=16384\nseries 0 mem 0 0 61 500 100 0\n"
SPIKE = "proc 0 pid=11 t0=61 mem_mib=400 peak_mib=9000 peak_t=75.5\n"
STATS = "nvmlDeviceGetAccountingStats"


def gpu_of(replay: Replay, scenario: str, host: Host = OWN) -> dict[str, Any]:
    gpu = replay.run(scenario, seconds=60, host=host)["gpu"]
    assert isinstance(gpu, dict)
    return gpu


def test_a_peak_between_two_polls_is_exact(replay: Replay) -> None:
    gpu = gpu_of(replay, DEVICE + SPIKE)
    [device] = gpu["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (9000, "nvml_accounting")
    assert (device["peak_mem_used"], device["peak_mem_source"]) == (9000, "nvml_accounting")
    assert device["peak_mem"] == gpu["peak_mem"] == 100 * 9000 / 16384
    assert gpu["peak_mem_used"] == 9000


def test_where_the_mode_is_off_polls_tell(replay: Replay) -> None:
    [device] = gpu_of(replay, DEVICE.replace("accounting=1", "accounting=0") + SPIKE)["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (400, "nvml_processes")
    assert device["peak_mem_used"] == 500
    assert "peak_mem_source" not in device
    assert STATS not in {call.function for call in replay.calls()}


def test_a_task_too_short_for_a_poll_has_its_own_figure(replay: Replay) -> None:
    [device] = gpu_of(replay, f"{DEVICE}proc 0 pid=11 t0=62 t1=80 mem_mib=700\n")["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (700, "nvml_accounting")


def test_peaks_of_two_processes_are_not_added(replay: Replay) -> None:
    scenario = DEVICE + SPIKE + "proc 0 pid=12 t0=62 mem_mib=100 peak_mib=8000 peak_t=80\n"
    [device] = gpu_of(replay, scenario)["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (500, "nvml_processes")
    assert device["peak_mem_used"] == 500


def test_with_others_on_the_device_its_peak_is_the_polls(replay: Replay) -> None:
    scenario = DEVICE + SPIKE + "proc 0 pid=21 t0=0 mem_mib=100\n"
    [device] = gpu_of(replay, scenario)["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (9000, "nvml_accounting")
    assert device["peak_mem_used"] == 500
    assert "peak_mem_source" not in device


def test_a_polled_peak_that_is_higher_stays(replay: Replay) -> None:
    scenario = f"{DEVICE}proc 0 pid=11 t0=61 mem_mib=400\n"
    [device] = gpu_of(replay, scenario)["devices"]
    assert device["peak_mem_used"] == 500
    assert "peak_mem_source" not in device


def test_a_peak_from_before_the_task_is_not_the_tasks(replay: Replay) -> None:
    scenario = f"{DEVICE}proc 0 pid=11 t0=10 mem_mib=400 peak_mib=9000 peak_t=20\n"
    [device] = gpu_of(replay, scenario)["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (400, "nvml_processes")
    assert device["peak_mem_used"] == 500


def test_numbers_of_another_namespace_are_not_looked_up(replay: Replay) -> None:
    host = Host(parents=OWN.parents, namespace=1)
    scenario = DEVICE.replace("accounting", "version=525.60.13 accounting") + SPIKE
    [device] = gpu_of(replay, scenario, host=host)["devices"]
    assert "own_peak_mem_used" not in device
    assert STATS not in {call.function for call in replay.calls()}


@pytest.mark.parametrize("call", ["Mode", "Pids", "Stats"])
def test_an_accounting_call_that_fails_costs_its_figure_only(replay: Replay, call: str) -> None:
    broken = f"fail nvmlDeviceGetAccounting{call} code=UNKNOWN\n"
    [device] = gpu_of(replay, DEVICE + SPIKE + broken)["devices"]
    assert device["own_peak_mem_used"] == 400  # the polls'; without the list there may be others


def test_a_process_that_has_ended_may_have_been_the_tasks(replay: Replay) -> None:
    """Its memory may have come on top of the other one's, or not."""
    ended = "proc 0 pid=99 t0=63 t1=68 mem_mib=9900\n"
    [device] = gpu_of(replay, f"{DEVICE}{SPIKE}{ended}")["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (400, "nvml_processes")
    assert "peak_mem_source" not in device
    before = ended.replace("t0=63 t1=68", "t0=10 t1=20")
    [device] = gpu_of(replay, f"{DEVICE}{SPIKE}{before}")["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (9000, "nvml_accounting")


def test_a_peak_above_the_devices_memory_is_none(replay: Replay) -> None:
    [device] = gpu_of(replay, DEVICE + SPIKE.replace("9000", "16385"))["devices"]
    assert (device["own_peak_mem_used"], device["own_mem_source"]) == (400, "nvml_processes")
    assert device["peak_mem_used"] == 500


@pytest.mark.parametrize(("peak_mib", "with_time"), [(8192, False), (900, True)])
def test_the_last_words_give_a_time_only_to_what_polls_saw(
    gpu_wrapper: Wrapper, scenario: Callable[[str], None], peak_mib: int, with_time: bool
) -> None:
    scenario(
        "driver accounting=1\ndevice 0 mem_mib=81920\nseries 0 mem 0 1000\n"
        f"proc 0 pid=child mem_mib=900 peak_mib={peak_mib} peak_t=0.6\n"
    )
    done = gpu_wrapper.run("sh", "-c", "sleep 1.5; kill -KILL $$")
    peak = "8.0" if not with_time else "1.0"
    assert f"peak VRAM {peak} of 80.0 GiB" in done.stderr
    assert ("80.0 GiB at 00:00:0" in done.stderr) is with_time


def test_it_is_read_at_the_end_only(replay: Replay) -> None:
    gpu_of(replay, DEVICE + SPIKE)
    at_s = {call.at_s for call in replay.calls() if "Accounting" in call.function}
    assert at_s == {120}
