import logging
import os
from pathlib import Path

import pytest

from collector.collect import find_task_directories
from collector.errors import CollectFailed
from helpers.builders import task_directory


@pytest.mark.parametrize("marker", [".task.json", ".command.sh", ".exitcode"])
def test_each_marker_file_makes_a_task_directory(tmp_path: Path, marker: str) -> None:
    task = task_directory(tmp_path / "ab" / "cd")
    (task / marker).touch()
    assert find_task_directories([tmp_path]) == [task]


def test_a_trace_directory_makes_a_task_directory(tmp_path: Path) -> None:
    task = task_directory(tmp_path / "ab" / "cd", trace={})
    assert find_task_directories([tmp_path]) == [task]


def test_a_named_directory_may_itself_be_one(tmp_path: Path) -> None:
    task_directory(tmp_path, exit_code=0)
    inner = task_directory(tmp_path / "work" / "ab", exit_code=0)
    assert find_task_directories([tmp_path]) == [tmp_path, inner]


def test_other_directories_are_none(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "exitcode").touch()
    (tmp_path / ".fusion").touch()
    assert find_task_directories([tmp_path]) == []


def test_what_lies_in_a_trace_directory_is_not_looked_at(tmp_path: Path) -> None:
    task = task_directory(tmp_path / "a", trace={})
    task_directory(task / ".fusion" / "inner", exit_code=0)
    assert find_task_directories([tmp_path]) == [task]


def test_links_below_are_not_followed_but_a_named_link_is(tmp_path: Path) -> None:
    task_directory(tmp_path / "elsewhere" / "t", exit_code=0)
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "loop").symlink_to(root)
    assert find_task_directories([root]) == []
    assert find_task_directories([root / "link"]) == [root / "link" / "t"]


def test_each_directory_is_found_once_and_in_order(tmp_path: Path) -> None:
    tasks = [task_directory(tmp_path / name, exit_code=0) for name in ("b", "a", "c")]
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(tmp_path)
    assert find_task_directories([tmp_path / "c", tmp_path, link]) == sorted(tasks)


@pytest.mark.parametrize(("name", "reason"), [("none", "does not exist"), ("f", "not a directory")])
def test_a_root_that_is_no_directory_is_an_error(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(CollectFailed, match=reason):
        find_task_directories([tmp_path, tmp_path / name])


def test_ec_3_a_root_that_cannot_be_looked_at_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = task_directory(tmp_path / "good", exit_code=0)
    hidden = tmp_path / "closed" / "hidden"
    stat = os.stat

    def fail(path: Path, **options: bool) -> object:
        if Path(path) == hidden:
            raise PermissionError(13, "Permission denied")
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", fail)
    with caplog.at_level(logging.WARNING):
        assert find_task_directories([hidden, tmp_path / "good"]) == [good]
    assert f"{hidden}: cannot be looked at: Permission denied; left out" in caplog.text


def test_ec_3_a_directory_that_cannot_be_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = task_directory(tmp_path / "good", exit_code=0)
    (tmp_path / "bad").mkdir()
    scandir = os.scandir

    def fail(path: Path) -> object:
        if Path(path).name == "bad":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)
    with caplog.at_level(logging.WARNING):
        assert find_task_directories([tmp_path]) == [good]
    assert "bad: cannot be listed: Permission denied" in caplog.text
