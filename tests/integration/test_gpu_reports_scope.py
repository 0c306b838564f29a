"""Public reports of the wrong GPU being counted, each as a scenario; rows as in the table of
reports. And which devices `--gpus` and the batch systems' variables choose."""

from typing import Any

import pytest

from helpers.replay import TASK, Host, Replay

UUIDS = ("GPU-8932f937-d72c", "GPU-8932aaaa-0000", "GPU-55e0b2c1-1234")
SAME = "".join(f"device {i} name=A uuid={uuid}\n" for i, uuid in enumerate(UUIDS))
MIXED = "device 0 name=A uuid=GPU-a\ndevice 1 name=B uuid=GPU-b\n"
OWN = Host(parents={11: TASK, 12: TASK})


def choice(
    replay: Replay, scenario: str, gpus: str | None = None, **variables: str
) -> tuple[list[int], str, str, list[str]]:
    """The devices counted, by what rule, how sure, and the notes."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in variables.items():
            environment.setenv(name, value)
        result = replay.run(scenario, seconds=60, gpus=gpus, host=OWN)
    scope = result["probe"]["scope"]
    counted = [device["index"] for device in result.get("gpu", {}).get("devices", [])]
    return counted, scope["gpus"], scope["confidence"], result["probe"]["notes"]


def counted(replay: Replay, visible: str, scenario: str = SAME) -> list[int]:
    return choice(replay, scenario, CUDA_VISIBLE_DEVICES=visible)[0]


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("GPU-8932f9", [0]),
        ("GPU-8932", []),  # two begin so
        ("GPU-55", [2]),
        (UUIDS[1], [1]),
        ("GPU-55,GPU-8932,GPU-8932f9", [2]),
    ],
)
def test_row_36_uuids_may_be_cut_where_they_are_unique(
    replay: Replay, visible: str, expected: list[int]
) -> None:
    found, gpus, confidence, notes = choice(replay, SAME, CUDA_VISIBLE_DEVICES=visible)
    if expected:
        assert (found, gpus, confidence) == (expected, "cuda_visible_devices", "exact")
        assert [note.rsplit(": ")[-1] for note in notes] == (["GPU-8932"] if "," in visible else [])
    else:  # CUDA would see nothing; the list may be another host's
        assert (found, gpus, confidence) == ([0, 1, 2], "all_visible", "ambiguous")


@pytest.mark.parametrize(
    ("visible", "expected"),
    [("0,0", []), ("0,-1,1", [0]), ("GPU-55,2", [2]), ("1,GPU-55", [1]), ("2,1,2", [])],
)
def test_row_37_duplicates_negatives_and_mixtures(
    replay: Replay, visible: str, expected: list[int]
) -> None:
    assert counted(replay, visible) == expected


@pytest.mark.parametrize(
    ("visible", "expected"), [("1gpu2,2ampere", [1, 2]), ("0-2", [0]), ("+2,-0", [2, 0])]
)
def test_row_38_numbers_are_read_as_far_as_they_go(
    replay: Replay, visible: str, expected: list[int]
) -> None:
    assert counted(replay, visible) == expected


def test_row_39_the_order_is_kept(replay: Replay) -> None:
    assert counted(replay, "1,0") == [1, 0]


def test_row_40_unlike_devices_may_be_numbered_otherwise(replay: Replay) -> None:
    found, gpus, confidence, notes = choice(replay, MIXED, CUDA_VISIBLE_DEVICES="0")
    assert (found, gpus, confidence) == ([0], "cuda_visible_devices", "ambiguous")
    assert "CUDA_DEVICE_ORDER" in notes[0]


@pytest.mark.parametrize("visible", ["0,1", "1,0"])
def test_of_all_devices_the_order_does_not_matter(replay: Replay, visible: str) -> None:
    found, _, confidence, notes = choice(replay, MIXED, CUDA_VISIBLE_DEVICES=visible)
    assert (sorted(found), confidence, notes) == ([0, 1], "exact", [])


@pytest.mark.parametrize(
    ("order", "confidence"), [("FASTEST_FIRST", "ambiguous"), ("PCI_BUS_ID", "exact")]
)
def test_row_41_the_numbers_are_nvidia_smis_only_in_its_order(
    replay: Replay, order: str, confidence: str
) -> None:
    made = choice(replay, MIXED, CUDA_VISIBLE_DEVICES="1", CUDA_DEVICE_ORDER=order)
    assert (made[0], made[2]) == ([1], confidence)


def test_row_42_the_order_of_the_bus_is_exact(replay: Replay) -> None:
    made = choice(replay, MIXED, CUDA_VISIBLE_DEVICES="1,0", CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert made == ([1, 0], "cuda_visible_devices", "exact", [])


def test_row_43_a_list_longer_than_the_devices(replay: Replay) -> None:
    assert counted(replay, "0,1,2,3,4,5,6,7") == [0, 1, 2]
    assert counted(replay, ",".join(reversed(UUIDS)) + ",GPU-ffff") == [2, 1, 0]


def test_row_44_a_host_number_in_a_container_with_one_device(replay: Replay) -> None:
    made = choice(replay, "device 0\n", CUDA_VISIBLE_DEVICES="3")
    assert made[:3] == ([0], "all_visible", "ambiguous")
    assert "all visible devices were counted" in made[3][0]


def test_the_tasks_process_settles_which_device_is_meant(replay: Replay) -> None:
    scenario = f"{MIXED}proc 0 pid=11 t0=70\n"
    made = choice(replay, scenario, CUDA_VISIBLE_DEVICES="0")
    assert made == ([0], "cuda_visible_devices", "exact", [])


def test_the_tasks_process_on_another_device_is_told(replay: Replay) -> None:
    scenario = f"{MIXED}proc 0 pid=12\nproc 1 pid=11 t0=70\n"
    found, _, confidence, notes = choice(replay, scenario, CUDA_VISIBLE_DEVICES="0")
    assert (found, confidence) == ([0], "ambiguous")
    assert notes == [
        "the task was seen on device 1, which is not among those counted: CUDA numbers the "
        "devices in another order; set CUDA_DEVICE_ORDER=PCI_BUS_ID"
    ]


def test_somebody_elses_process_settles_nothing(replay: Replay) -> None:
    made = choice(replay, f"{MIXED}proc 0 pid=4200001\n", CUDA_VISIBLE_DEVICES="0")
    assert made[2] == "ambiguous"


def test_one_of_two_devices_seen_is_not_enough(replay: Replay) -> None:
    scenario = f"{MIXED}device 2 name=C\nproc 0 pid=11\n"
    assert choice(replay, scenario, CUDA_VISIBLE_DEVICES="0,1")[2] == "ambiguous"


def test_other_devices_are_not_asked_for_their_processes_without_need(replay: Replay) -> None:
    choice(replay, SAME, CUDA_VISIBLE_DEVICES="0")
    asked = {call.device for call in replay.calls() if "RunningProcess" in call.function}
    assert asked == {0}


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ("all", [0, 1, 2]),
        ("2,0", [2, 0]),
        ("GPU-55", [2]),
        ("GPU-8932f9,2", [0, 2]),  # this is no CUDA list: both may be mixed
        ("1,1", [1]),
    ],
)
def test_the_option_is_stronger_than_the_environment(
    replay: Replay, gpus: str, expected: list[int]
) -> None:
    made = choice(replay, SAME, gpus, CUDA_VISIBLE_DEVICES="0", SLURM_STEP_GPUS="1")
    assert made == (expected, "option", "exact", [])


def test_auto_is_the_environments_choice(replay: Replay) -> None:
    made = choice(replay, SAME, "auto", CUDA_VISIBLE_DEVICES="1")
    assert made[:2] == ([1], "cuda_visible_devices")


@pytest.mark.parametrize(
    ("gpus", "told"),
    [
        ("0,7", "'7': no such device (there are 0 to 2)"),
        ("GPU-8932,0", "'GPU-8932' fits 2 devices: write more of it"),
    ],
)
def test_an_unknown_device_is_named_and_the_others_are_counted(
    replay: Replay, gpus: str, told: str
) -> None:
    found, _, _, [note] = choice(replay, SAME, gpus)
    assert found == [0]
    assert note == f"--gpus: {told}"


def test_a_device_that_is_listed_twice_is_told(replay: Replay) -> None:
    found, _, _, [note] = choice(replay, SAME, CUDA_VISIBLE_DEVICES="0,0")
    assert found == []
    assert note == "CUDA_VISIBLE_DEVICES lists a device twice, for which CUDA shows none"


@pytest.mark.parametrize(
    ("visible", "expected", "end"), [("1,7,0", [1], ["7"]), ("1,-1,0", [1], []), ("1,", [1], [])]
)
def test_a_list_that_ends_early_is_told_unless_it_is_meant_to(
    replay: Replay, visible: str, expected: list[int], end: list[str]
) -> None:
    found, _, confidence, notes = choice(replay, SAME, CUDA_VISIBLE_DEVICES=visible)
    assert (found, confidence) == (expected, "exact")
    assert notes == [
        f"CUDA_VISIBLE_DEVICES ends at an entry that names no single device: {entry}"
        for entry in end
    ]


def test_only_unknown_devices_are_none(replay: Replay) -> None:
    found, gpus, _, [note] = choice(replay, SAME, "9")
    assert (found, gpus) == ([], "option")
    assert note == "--gpus: '9': no such device (there are 0 to 2)"


def test_devices_that_cannot_be_opened_keep_their_numbers(replay: Replay) -> None:
    closed = f"{SAME}fail nvmlDeviceGetHandleByIndex_v2 dev=0 code=NO_PERMISSION\n"
    assert choice(replay, closed)[0] == [1, 2]
    assert choice(replay, closed, CUDA_VISIBLE_DEVICES="0")[0] == [1]  # CUDA counts what it sees
    assert choice(replay, closed, "1")[0] == [1]
    assert choice(replay, closed, SLURM_STEP_GPUS="2")[0] == [2]


@pytest.mark.parametrize("variable", ["SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL"])
def test_slurms_devices_are_a_hint(replay: Replay, variable: str) -> None:
    made = choice(replay, SAME, **{variable: "1"})
    assert made[:3] == ([1], "slurm", "ambiguous")
    assert "CUDA_VISIBLE_DEVICES is not set" in made[3][0]


def test_cuda_is_stronger_than_slurm(replay: Replay) -> None:
    made = choice(replay, SAME, SLURM_STEP_GPUS="1", CUDA_VISIBLE_DEVICES="2")
    assert made[:3] == ([2], "cuda_visible_devices", "exact")


@pytest.mark.parametrize("given", ["0,1,2", "4", "0,4"])
def test_where_slurm_confines_the_step_all_that_is_visible_counts(
    replay: Replay, given: str
) -> None:
    made = choice(replay, SAME, SLURM_STEP_GPUS=given)
    assert made == ([0, 1, 2], "all_visible", "exact", [])


@pytest.mark.parametrize("word", ["none", "void"])
def test_a_container_that_was_given_no_gpu(replay: Replay, word: str) -> None:
    found, gpus, confidence, [note] = choice(replay, SAME, NVIDIA_VISIBLE_DEVICES=word)
    assert (found, gpus, confidence) == ([0, 1, 2], "all_visible", "ambiguous")
    assert "NVIDIA_VISIBLE_DEVICES" in note
    nothing = choice(replay, "driver version=1\n", NVIDIA_VISIBLE_DEVICES=word)
    assert nothing[:3] == ([], "none", "exact")
    assert nothing[3] == ["NVIDIA_VISIBLE_DEVICES gives this container no GPU"]


def test_the_containers_list_is_of_the_host_and_not_used(replay: Replay) -> None:
    made = choice(replay, SAME, NVIDIA_VISIBLE_DEVICES="6")
    assert made == ([0, 1, 2], "all_visible", "exact", [])


def test_a_choice_has_no_more_than_its_keys(replay: Replay) -> None:
    scope: dict[str, Any] = replay.run(SAME, seconds=60, host=OWN)["probe"]["scope"]
    assert scope == {"gpus": "all_visible", "confidence": "exact", "shared": False}
