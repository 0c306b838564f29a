from pathlib import Path
from typing import Any

import pytest

from collector.errors import TaskMalformed
from collector.trace import TASK_FILE, TaskFile, encode_task_file, read_task_file
from helpers.builders import task_directory


def read(directory: Path, content: dict[str, Any] | bytes) -> TaskFile:
    task = read_task_file(task_directory(directory, task=content) / TASK_FILE)
    assert task is not None
    return task


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"task_id": "3", "hash": "ab/cdef01", "submit": 12, "attempt": 1}
    data = encode_task_file(fields, others={"executor": "local", "fusion": True})
    assert read(tmp_path, data) == TaskFile(fields=fields, fusion=True)


def test_what_is_not_known_is_left_out_but_the_tag() -> None:
    data = encode_task_file({"tag": None, "start": None, "task_id": "1"}, others={"repeat": None})
    assert data.split() == b'{ "schema": 1, "tag": null, "task_id": "1" }'.split()


def test_there_may_be_no_file(tmp_path: Path) -> None:
    assert read_task_file(tmp_path / TASK_FILE) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff"])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(TaskMalformed, match=r"\.task\.json"):
        read(tmp_path, content)


def test_unknown_keys_are_ignored_and_numbers_of_text_fields_accepted(tmp_path: Path) -> None:
    task = read(tmp_path, {"schema": 1, "task_id": 7, "new_key": [1], "cpus": 4})
    assert task == TaskFile(fields={"task_id": "7", "cpus": 4})


@pytest.mark.parametrize(
    ("key", "value"),
    [("task_id", []), ("cpus", "4"), ("submit", -1), ("attempt", True), ("memory", 1.5)],
)
def test_a_value_of_the_wrong_type_costs_only_its_key(
    tmp_path: Path, key: str, value: object
) -> None:
    task = read(tmp_path, {"name": "n", key: value})
    assert task.fields == {"name": "n"}
    assert len(task.problems) == 1
    assert f"{key} is " in task.problems[0]


@pytest.mark.parametrize("key", ["status", "exit", "rss", "%cpu", "realtime"])
def test_measured_fields_and_the_status_are_not_taken(tmp_path: Path, key: str) -> None:
    assert read(tmp_path, {key: 5}) == TaskFile()


@pytest.mark.parametrize(("stated", "expected"), [(True, True), (False, False), ("true", None)])
def test_only_a_boolean_states_fusion(
    tmp_path: Path, stated: object, expected: bool | None
) -> None:
    assert read(tmp_path, {"fusion": stated}).fusion is expected
