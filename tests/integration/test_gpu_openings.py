"""Devices that cannot be opened, or not at first: what is measured is what was asked for, or it is
said that it may not be."""

from typing import Any

import pytest

from helpers.replay import Replay

TWO = (
    "device 0 name=A uuid=GPU-aaa\ndevice 1 name=A uuid=GPU-bbb\n"
    "series 0 util 0 90\nseries 1 util 0 10\n"
)
HANDLE = "fail nvmlDeviceGetHandleByIndex* dev=0"
TRANSIENT = ("TIMEOUT", "UNKNOWN", "IN_USE", "NO_DATA")


def run(
    replay: Replay,
    scenario: str,
    visible: str | None = None,
    *,
    gpus: str | None = None,
    seconds: float = 20,
) -> tuple[list[str], str, list[str], dict[str, Any]]:
    """Return the uuids counted, how sure that is, the notes, and the whole result."""
    with pytest.MonkeyPatch.context() as environment:
        if visible is not None:
            environment.setenv("CUDA_VISIBLE_DEVICES", visible)
        result = replay.run(scenario, seconds=seconds, gpus=gpus)
    uuids = [device.get("uuid", "") for device in result.get("gpu", {}).get("devices", [])]
    return uuids, result["probe"]["scope"]["confidence"], result["probe"]["notes"], result


@pytest.mark.parametrize("code", TRANSIENT)
@pytest.mark.parametrize(("visible", "uuid"), [("0", "GPU-aaa"), ("1", "GPU-bbb")])
def test_a_device_that_opens_at_the_second_try_is_the_one_asked_for(
    replay: Replay, code: str, visible: str, uuid: str
) -> None:
    uuids, confidence, notes, result = run(replay, f"{TWO}{HANDLE} call=1 code={code}\n", visible)
    assert (uuids, confidence, notes) == ([uuid], "exact", [])
    assert result["gpu"]["pct"] == (90 if uuid == "GPU-aaa" else 10)


@pytest.mark.parametrize("code", [*TRANSIENT, "GPU_IS_LOST"])
@pytest.mark.parametrize(
    ("visible", "expected"), [("0", []), ("1", ["GPU-bbb"]), ("0,1", ["GPU-bbb"])]
)
def test_numbers_at_or_behind_a_device_that_stays_shut_are_doubtful(
    replay: Replay, code: str, visible: str, expected: list[str]
) -> None:
    uuids, confidence, notes, _ = run(replay, f"{TWO}{HANDLE} code={code}\n", visible)
    assert (uuids, confidence) == (expected, "ambiguous")
    assert notes[0].startswith("a device could not be opened: ")
    assert not [note for note in notes if "shows no device" in note or "hides every" in note]


def test_a_number_before_the_hole_and_a_uuid_are_certain(replay: Replay) -> None:
    behind = f"{TWO}{HANDLE.replace('dev=0', 'dev=1')} code=GPU_IS_LOST\n"
    assert run(replay, behind, "0")[:2] == (["GPU-aaa"], "exact")
    before = f"{TWO}{HANDLE} code=GPU_IS_LOST\n"
    assert run(replay, before, "GPU-bbb")[:2] == (["GPU-bbb"], "exact")
    assert run(replay, before, gpus="1")[:2] == (["GPU-bbb"], "exact")
    assert run(replay, before, gpus="0,1")[:2] == (["GPU-bbb"], "ambiguous")


def test_one_of_all_devices_that_stays_shut_is_told(replay: Replay) -> None:
    uuids, confidence, [note], _ = run(replay, f"{TWO}{HANDLE} code=GPU_IS_LOST\n")
    assert (uuids, confidence) == (["GPU-bbb"], "ambiguous")
    assert note.startswith("a device could not be opened: ")


def test_the_only_device_that_stays_shut_is_no_lack_of_devices(replay: Replay) -> None:
    uuids, _, [note], _ = run(replay, f"device 0\n{HANDLE} code=TIMEOUT\n")
    assert uuids == []
    assert note.startswith("a device could not be opened: ")


@pytest.mark.parametrize(
    "once",
    [
        "fail nvmlInit* call=1 code=IN_USE\n",
        "fail nvmlDeviceGetCount* call=1 code=TIMEOUT\n",
        "fail nvmlDeviceGetUUID dev=0 call=1 code=TIMEOUT\n",
        "fail nvmlDeviceGetName dev=0 call=1 code=UNKNOWN\n",
        "fail nvmlDeviceGetMigMode dev=0 call=1 code=TIMEOUT\n",
    ],
)
def test_one_failure_at_the_start_does_not_cost_the_figures(replay: Replay, once: str) -> None:
    uuids, confidence, notes, result = run(replay, TWO + once, "GPU-aaa")
    assert (uuids, confidence, notes) == (["GPU-aaa"], "exact", [])
    assert result["gpu"]["pct"] == 90
    assert result["gpu"]["name"] == "A"
    assert result["probe"]["coverage"] > 0.95  # the driver's history reaches back


def test_a_task_that_ends_before_the_second_try_is_measured_at_its_end(replay: Replay) -> None:
    uuids, _, notes, _ = run(replay, f"{TWO}{HANDLE} call=1 code=TIMEOUT\n", "0", seconds=0.05)
    assert (uuids, notes) == (["GPU-aaa"], [])


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("nvmlInit*", "NVML could not be initialised"),
        ("nvmlDeviceGetCount*", "does not tell its devices"),
    ],
)
def test_what_fails_for_good_is_asked_a_few_times_and_told(
    replay: Replay, function: str, text: str
) -> None:
    uuids, _, [note], _ = run(replay, f"{TWO}fail {function} code=TIMEOUT\n", seconds=600)
    assert uuids == []
    assert text in note
    assert note.endswith("Timeout")
    failed = [call for call in replay.calls() if call.outcome == "10"]
    assert 2 <= len(failed) <= 10


def test_a_driver_that_does_not_fit_is_not_asked_again(replay: Replay) -> None:
    run(replay, f"{TWO}fail nvmlInit* code=LIB_RM_VERSION_MISMATCH\n")
    assert len(replay.calls()) == 1


def test_texts_that_the_driver_never_gives_are_absent(replay: Replay) -> None:
    never = "fail nvmlDeviceGetName code=NOT_SUPPORTED\nfail nvmlDeviceGetUUID code=NOT_SUPPORTED\n"
    result = replay.run(f"device 0\nseries 0 util 0 40\n{never}", seconds=20)
    [device] = result["gpu"]["devices"]
    assert {"name", "uuid"}.isdisjoint(device)
    assert "name" not in result["gpu"]
    assert device["pct"] == 40


def test_texts_that_fill_their_room_are_cut(replay: Replay) -> None:
    """Without an end, as a driver that fills the whole buffer leaves them."""
    scenario = f"{TWO}garbage endless 0\ngarbage endless 1\n"
    result = replay.run(scenario, seconds=5, CUDA_VISIBLE_DEVICES="0")
    [device] = result["gpu"]["devices"]
    assert (device["name"], device["uuid"]) == ("A" * 95, "G" * 95)
    assert result["probe"]["scope"]["confidence"] == "exact"
