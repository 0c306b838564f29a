"""Streams of records from trees, parts of which hang."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.collect import CollectOptions, collect_directories, stream_directories
from helpers.builders import gpu_block, task_directory, trace

HASHED = "ab/0123456789abcdef0123456789abcd"
IMPATIENT = CollectOptions(fusion="on", patience_s=0.1)


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Paths at or below which every system call hangs until the test has ended."""
    released = threading.Event()
    paths: list[str] = []
    scandir, os_open = os.scandir, os.open

    def wait(path: object) -> None:
        if any(str(path).startswith(hanging) for hanging in paths):
            released.wait()

    def slow_scandir(path: str) -> object:
        wait(path)
        return scandir(path)

    def slow_open(path: str, *arguments: int) -> int:
        wait(path)
        return os_open(path, *arguments)

    monkeypatch.setattr(os, "scandir", slow_scandir)
    monkeypatch.setattr(os, "open", slow_open)
    yield paths
    released.set()


def test_ec_3_a_directory_that_hangs_costs_only_its_own_figures(
    tmp_path: Path, hang: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("aa", "ab", "ac"):
        task_directory(tmp_path / name / HASHED[3:], trace=trace(), exit_code=0)
    hang.append(str(tmp_path / HASHED))
    records = collect_directories([tmp_path], IMPATIENT)
    assert [record["status"] for record in records] == ["COMPLETED", None, "COMPLETED"]
    assert [record["hash"] for record in records] == ["aa/012345", "ab/012345", "ac/012345"]
    assert [record.gpu_metrics for record in records] == [gpu_block(), None, gpu_block()]
    assert "takes too long" in caplog.text


def test_ec_3_a_file_that_hangs_costs_only_its_task(tmp_path: Path, hang: list[str]) -> None:
    for name in ("a", "b"):
        task_directory(tmp_path / name, trace=trace(), exit_code=0)
    hang.append(str(tmp_path / "a" / ".fusion"))
    found = {
        Path(str(record["workdir"])).name: record["status"]
        for record in stream_directories([tmp_path], IMPATIENT)
    }
    assert found == {"a": None, "b": "COMPLETED"}


def test_a_read_only_tree_is_collected(tmp_path: Path) -> None:
    task = task_directory(tmp_path / "a", trace=trace(), exit_code=0)
    for directory in (task / ".fusion", task, tmp_path):
        directory.chmod(0o555)
    try:
        (record,) = collect_directories([tmp_path], CollectOptions(fusion="on"))
    finally:
        tmp_path.chmod(0o755)
        task.chmod(0o755)
    assert record.gpu_metrics == gpu_block()


def test_roots_below_another_root_are_walked_once(tmp_path: Path) -> None:
    inner = task_directory(tmp_path / "a" / "b", exit_code=0)
    roots = [inner, tmp_path, tmp_path / "a"]
    assert len(list(stream_directories(roots))) == 1
