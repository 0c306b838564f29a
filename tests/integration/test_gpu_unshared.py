"""That nobody else used a device is said only where it is known: each list was whole, and the last
one was read at the end."""

from typing import Any

import pytest

from helpers.replay import TASK, Host, Replay

HOST = Host(parents={11: TASK, 500: 1})
BUSY = "device 0 name=A\nseries 0 util 0 50\nseries 0 mem 0 4000\nproc 0 pid=11 t0=60\n"
FOREIGN = "proc 0 pid=500 t0=62 mem_mib=100\n"
LISTS = "nvmlDeviceGet*RunningProcess*"


def run(
    replay: Replay, scenario: str, *, seconds: float = 20
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is said of the scope, and the first device."""
    result = replay.run(scenario, seconds=seconds, host=HOST)
    return result["probe"]["scope"], result["gpu"]["devices"][0]


def test_lists_without_others_to_the_end_are_an_unshared_device(replay: Replay) -> None:
    scope, device = run(replay, BUSY)
    assert scope["shared"] is False
    assert device["others"] == {"count": 0}
    assert "others" not in device.get("absent", {})


@pytest.mark.parametrize(
    "end",
    [
        "lost 0 t=63\n",
        "unload t=63\n",
        f"fail {LISTS} from=61 code=UNKNOWN\n",
        f"fail {LISTS} from=61 code=NOT_SUPPORTED\n",
        f"fail {LISTS} from=61 code=GPU_IS_LOST\n",
        f"fail {LISTS} from=61 code=DRIVER_NOT_LOADED\n",
    ],
)
def test_without_the_last_list_it_is_not_known(replay: Replay, end: str) -> None:
    scope, device = run(replay, BUSY + FOREIGN + end)
    assert "shared" not in scope
    assert "others" not in device
    assert device["absent"]["others"]


def test_a_list_that_failed_in_between_leaves_a_gap(replay: Replay) -> None:
    gap = f"fail {LISTS} from=89 to=91 code=TIMEOUT\n"
    scope, device = run(replay, BUSY + gap, seconds=60)
    assert "shared" not in scope
    assert "others" not in device


def test_others_that_were_seen_stay_seen(replay: Replay) -> None:
    seen = FOREIGN.replace("t0=62", "t0=10")
    scope, device = run(replay, f"{BUSY}{seen}lost 0 t=63\n")
    assert scope["shared"] is True
    assert device["others"] == {"count": 1, "mem_used": 100}


@pytest.mark.parametrize(
    "code", ["NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "UNKNOWN", "NO_PERMISSION"]
)
def test_without_the_list_of_compute_processes_nothing_is_known(replay: Replay, code: str) -> None:
    """The list of graphics processes does not have those that matter."""
    partial = (
        "hide nvmlDeviceGetRunningProcessDetailList\n"
        f"fail nvmlDeviceGetComputeRunningProcesses* code={code}\n"
    )
    scope, device = run(replay, BUSY + FOREIGN + partial)
    assert "shared" not in scope
    assert {"others", "own_peak_mem_used"}.isdisjoint(device)


@pytest.mark.parametrize("kind", ["Graphics", "MPSCompute"])
def test_a_driver_without_the_other_lists_still_lists(replay: Replay, kind: str) -> None:
    partial = (
        "hide nvmlDeviceGetRunningProcessDetailList\n"
        f"fail nvmlDeviceGet{kind}RunningProcesses* code=NOT_SUPPORTED\n"
    )
    scope, device = run(replay, BUSY + partial)
    assert scope["shared"] is False
    assert device["others"] == {"count": 0}


def test_the_reason_of_a_failed_list_is_its_failure(replay: Replay) -> None:
    _, device = run(replay, f"{BUSY}fail {LISTS} code=TIMEOUT\n")
    assert "failed" in device["absent"]["own_peak_mem_used"]


def test_one_device_that_was_not_listed_at_the_end_is_enough(replay: Replay) -> None:
    scope, device = run(replay, f"{BUSY}device 1\nlost 1 t=63\n")
    assert "shared" not in scope
    assert device["others"] == {"count": 0}
