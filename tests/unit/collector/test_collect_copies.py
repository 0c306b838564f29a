"""Traces that lie outside their task's directory: copies, and those that found no other place."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, collect_directories
from collector.errors import CollectFailed
from helpers.builders import task_directory

ON = CollectOptions(fusion="on")
HASHED = "/data/work/ab/cdef01" + 24 * "2"


def trace_of(run: int, **probe: object) -> dict[str, Any]:
    said: dict[str, object] = {
        "run_id": f"{run:032x}",
        "state": "final",
        "exit": 0,
        "workdir": HASHED,
    }
    said |= {"start_ms": 1000 + run, "written_ms": 3000, "hostname": "node1"}
    return {"proc": {"realtime": 5, "rchar": run}, "probe": {**said, **probe}}


def write_copy(directory: Path, trace: dict[str, Any]) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / f"{trace['probe']['run_id']}.trace.json"
    path.write_text(json.dumps(trace))
    return path


def test_each_copy_is_a_task(tmp_path: Path) -> None:
    write_copy(tmp_path / "copies", trace_of(1))
    write_copy(tmp_path / "copies", trace_of(2, exit=3, workdir="/w/2"))
    first, second = sorted(collect_directories([tmp_path], ON), key=lambda r: str(r["workdir"]))
    assert (first["workdir"], first["hash"]) == (HASHED, "ab/cdef01")
    assert (first["status"], first["exit"], first["rchar"]) == ("COMPLETED", 0, 1)
    assert (first["start"], first["complete"], first["realtime"]) == (1001, 3000, 5)
    assert first["hostname"] == "node1"
    assert (second["workdir"], second["hash"]) == ("/w/2", None)
    assert (second["status"], second["exit"]) == ("FAILED", 3)


def test_one_file_may_be_named(tmp_path: Path) -> None:
    copy = write_copy(tmp_path, trace_of(1))
    renamed = copy.rename(tmp_path / "mine.json")
    (record,) = collect_directories([renamed], ON)
    assert record["workdir"] == HASHED
    assert collect_directories([tmp_path], ON) == []  # not by another name


def test_a_trace_that_does_not_say_where_it_is_of(tmp_path: Path) -> None:
    trace = trace_of(1)
    del trace["probe"]["workdir"]
    (record,) = collect_directories([write_copy(tmp_path, trace)], ON)
    assert (record["workdir"], record["hash"], record["rchar"]) == (None, None, 1)


def test_a_copy_of_what_is_there_is_no_task_more(tmp_path: Path) -> None:
    task = task_directory(tmp_path / "work", trace=trace_of(1))
    write_copy(tmp_path / "copies", trace_of(1))
    write_copy(tmp_path / "more", trace_of(1))
    (record,) = collect_directories([tmp_path], ON)
    assert record["workdir"] == str(task)
    (record,) = collect_directories([tmp_path / "copies", tmp_path / "more"], ON)
    assert record["workdir"] == HASHED


def test_other_files_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / f"{1:032x}.trace.json").write_text('{"proc": {}}')
    (tmp_path / "text.txt").write_text("")
    with caplog.at_level(logging.WARNING):
        assert collect_directories([tmp_path], ON) == []
    assert "no trace of gpu-probe" in caplog.text
    with pytest.raises(CollectFailed):
        collect_directories([tmp_path / "text.txt"], ON)


def test_without_traces_there_are_no_copies(tmp_path: Path) -> None:
    copy = write_copy(tmp_path, trace_of(1))
    assert collect_directories([copy], CollectOptions(fusion="off")) == []
