"""Damaged and unreachable task directories: each has a record, and costs no other its own."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, collect_directories, collect_task
from collector.sinks import encode_jsonl, record_row
from collector.trace import read_exit_status
from helpers.builders import HASHED_PATH, gpu_block, probe_block, proc_block, task_directory, trace

ASSEMBLY = "collector.collect.assembly"
ON = CollectOptions(fusion="on")
COMMAND_TRACE = "nextflow.trace/v2\nrealtime=77\nrchar=7\n"


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"gpu": "T4", "proc": 3}'])
def test_as_4_sc_003_a_bad_trace_costs_no_standard_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    directory = task_directory(
        tmp_path, trace=content, exit_code=0, task={"name": "n"}, command_trace=COMMAND_TRACE
    )
    with caplog.at_level(logging.DEBUG):
        record = collect_task(directory, ON)
    assert record.gpu_metrics is None
    assert (record["name"], record["status"]) == ("n", "COMPLETED")
    assert (record["realtime"], record["rchar"]) == (77, 7)
    assert str(directory / ".fusion" / "trace.json") in caplog.text
    assert {entry.levelno for entry in caplog.records} == {logging.DEBUG}


def test_a_broken_task_file_costs_only_the_identity(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = task_directory(tmp_path / HASHED_PATH, task=b"{", trace=trace(), exit_code=1)
    record = collect_task(directory, ON)
    assert record.gpu_metrics == gpu_block()
    assert (record["hash"], record["status"]) == ("ab/cdef01", "FAILED")
    assert ".task.json: not valid JSON" in caplog.text


@pytest.mark.parametrize("content", [b"", b"x", b"1.5", b"1" * 100, b"9" * 23, b"-2147483649"])
def test_a_broken_exit_file_leaves_the_trace_to_decide(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    directory = task_directory(tmp_path, trace=trace(probe=probe_block(exit=3)), exit_code=content)
    record = collect_task(directory, ON)
    assert (record["status"], record["exit"]) == ("FAILED", 3)
    assert ".exitcode: no exit status" in caplog.text


@pytest.mark.parametrize(
    "failure", [PermissionError(13, "denied"), TimeoutError(110, "timed out"), OSError(5, "I/O")]
)
def test_ec_3_an_unreachable_directory_still_has_a_record(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: OSError,
) -> None:
    def fail(*_: object) -> int:
        raise failure

    directory = task_directory(tmp_path / HASHED_PATH, trace=trace(), task={}, exit_code=0)
    monkeypatch.setattr(os, "open", fail)
    record = collect_task(directory, ON)
    assert record["hash"] == "ab/cdef01"
    assert record["status"] is None
    assert "cannot be read" in caplog.text


def test_ec_3_a_vanished_directory_still_has_a_record(tmp_path: Path) -> None:
    record = collect_task(tmp_path / HASHED_PATH, ON)
    assert record["hash"] == "ab/cdef01"


def test_sc_003_an_error_in_one_task_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for index in (1, 2, 3):
        task_directory(tmp_path / str(index), task={"task_id": str(index)}, exit_code=0)

    def fail_second(path: Path) -> object:
        if Path(path).parent.name == "2":
            raise RuntimeError("a bug")
        return read_exit_status(path)

    monkeypatch.setattr(f"{ASSEMBLY}.read_exit_status", fail_second)
    records = collect_directories([tmp_path])
    assert [record["status"] for record in records] == ["COMPLETED", None, "COMPLETED"]
    assert [record["task_id"] for record in records] == ["1", "2", "3"]
    assert "the record is incomplete" in caplog.text


@pytest.mark.parametrize(
    ("exit_code", "content"),
    [
        (b"99999999999999999999999", trace()),
        (None, trace(probe=probe_block(signal=2**64 - 1))),
        (0, trace(proc=proc_block(vmem=2**63 - 1))),
        (0, trace(probe=probe_block(start_ms=-9, written_ms=2**64 - 1), proc=...)),
        (0, trace(probe=probe_block(start_ms=True), proc=...)),
    ],
)
def test_sc_003_fr_006_numbers_that_cannot_be_cost_only_themselves(
    tmp_path: Path, exit_code: int | bytes | None, content: dict[str, Any]
) -> None:
    record = collect_task(task_directory(tmp_path, trace=content, exit_code=exit_code), ON)
    assert json.loads(encode_jsonl([record_row(record)]))["gpu_metrics"] == gpu_block()
    numbers = [value for value in record.to_dict().values() if isinstance(value, int)]
    assert all(type(value) is int and 0 <= value < 2**63 for value in numbers)
