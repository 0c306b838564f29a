"""The order of the records of several directories."""

from pathlib import Path

import pytest

from collector.collect import CollectOptions, collect_directories
from helpers.builders import task_directory, trace

ON = CollectOptions(fusion="on")


def test_the_order_does_not_depend_on_how_the_directories_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = {"task_id": "1", "workdir": "/where/it/was"}
    for name in ("a", "b"):
        task_directory(tmp_path / name, task={**moved, "name": name}, exit_code=0)
    monkeypatch.chdir(tmp_path)
    for roots in ([Path("a"), tmp_path / "b"], [Path("b"), tmp_path / "a"], [tmp_path]):
        assert [record["name"] for record in collect_directories(roots)] == ["a", "b"]


def test_ids_that_are_no_numbers_come_after_those_that_are(tmp_path: Path) -> None:
    ids = {"a": "y", "b": "x", "c": None, "d": "9" * 5000, "e": "10", "f": "٣"}
    for name, task_id in ids.items():
        task_directory(tmp_path / name, task={"task_id": task_id, "name": name}, exit_code=0)
    records = collect_directories([tmp_path])
    assert [record["name"] for record in records] == ["e", "d", "a", "b", "c", "f"]


def test_records_are_in_the_order_of_their_ids_then_paths(tmp_path: Path) -> None:
    ids = {"a": "10", "b": "9", "c": None, "d": "9", "e": "x"}
    for name, task_id in ids.items():
        task_directory(tmp_path / name, task={"task_id": task_id}, exit_code=0)
    records = collect_directories([tmp_path])
    assert [Path(str(record["workdir"])).name for record in records] == ["b", "d", "a", "c", "e"]


def test_a_directory_can_be_collected_twice_with_the_same_result(tmp_path: Path) -> None:
    task_directory(tmp_path / "a", task={"task_id": "1"}, trace=trace(), exit_code=0)
    first, second = (collect_directories([tmp_path], ON) for _ in range(2))
    assert first == second
    assert [record.gpu_metrics for record in first] == [record.gpu_metrics for record in second]
