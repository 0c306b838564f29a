import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from collector.collect import (
    CollectOptions,
    FusionMode,
    Host,
    MetricsSource,
    collect_task,
)
from collector.trace import read_trace
from helpers.builders import (
    HASHED_PATH,
    gpu_block,
    probe_block,
    proc_block,
    sample_trace,
    task_directory,
    trace,
)

ON = CollectOptions(fusion="on")
COMMAND_TRACE = "nextflow.trace/v2\nrealtime=77\nrchar=7\n"

Opened = list[str]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """The paths that are opened from now on, through the only call that the package reads with."""
    paths: Opened = []
    os_open = os.open

    def record(path: Path, *arguments: int) -> int:
        paths.append(str(path))
        return os_open(path, *arguments)

    monkeypatch.setattr(os, "open", record)
    return paths


def traces_in(opened: Opened) -> Opened:
    return [path for path in opened if ".fusion" in path]


def test_fr_001_fr_002_the_whole_gpu_block_is_taken(tmp_path: Path) -> None:
    directory = task_directory(tmp_path, trace=sample_trace(), exit_code=0)
    record = collect_task(directory, ON)
    assert record.gpu_metrics == sample_trace()["gpu"]
    assert list(record.gpu_metrics or {}) == list(sample_trace()["gpu"])
    assert record["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("exit_code", "status"), [(0, "COMPLETED"), (1, "FAILED"), (137, "FAILED")]
)
def test_fr_005_as_3_gpu_metrics_do_not_depend_on_success(
    tmp_path: Path, exit_code: int, status: str
) -> None:
    record = collect_task(task_directory(tmp_path, trace=trace(), exit_code=exit_code), ON)
    assert record.gpu_metrics == gpu_block()
    assert (record["status"], record["exit"]) == (status, exit_code)


def test_fr_005_an_aborted_task_has_its_gpu_metrics(tmp_path: Path) -> None:
    host = Host(hostname="node1", boot_id="boot-1", pid_namespace=1, proc_root=tmp_path / "proc")
    content = trace(probe=probe_block(state="running"))
    directory = task_directory(tmp_path / "t", trace=content)
    record = collect_task(directory, CollectOptions(fusion="on", host=host))
    assert record["status"] == "ABORTED"
    assert record["exit"] is None
    assert record.gpu_metrics == gpu_block()


def test_a_task_that_ends_while_it_is_collected_is_not_aborted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = task_directory(tmp_path / "t", trace=trace(probe=probe_block(state="running")))

    def read_then_end(path: Path) -> object:
        read = read_trace(path)
        (directory / ".exitcode").write_text("0")  # after the directory has been listed
        return read

    monkeypatch.setattr("collector.collect.traces.read_trace", read_then_end)
    host = Host(hostname="node1", boot_id="boot-1", pid_namespace=1, proc_root=tmp_path / "proc")
    record = collect_task(directory, CollectOptions(fusion="on", host=host))
    assert (record["status"], record["exit"]) == ("COMPLETED", 0)


def test_r1_by_default_no_trace_is_read(tmp_path: Path, opened: Opened) -> None:
    directory = task_directory(tmp_path, trace=trace(), exit_code=0, command_trace=COMMAND_TRACE)
    record = collect_task(directory)
    assert record.gpu_metrics is None
    assert record["realtime"] == 77
    assert traces_in(opened) == []


@pytest.mark.parametrize(
    ("mode", "task_says", "environment", "expected"),
    [
        ("on", False, {"FUSION_ENABLED": "false"}, True),
        ("off", True, {"FUSION_ENABLED": "true"}, False),
        ("auto", None, {}, True),
        ("auto", None, {"FUSION_ENABLED": "true"}, True),
        ("auto", None, {"FUSION_ENABLED": "false"}, False),
        ("auto", None, {"FUSION_ENABLED": "TRUE"}, False),
        ("auto", None, {"FUSION_ENABLED": "1"}, False),
        ("auto", None, {"FUSION_ENABLED": ""}, False),
        ("auto", True, {"FUSION_ENABLED": "false"}, True),
        ("auto", False, {"FUSION_ENABLED": "true"}, False),
        ("auto", "false", {}, True),
    ],
)
def test_fr_007_ec_2_the_trace_is_opened_only_with_fusion(
    tmp_path: Path,
    opened: Opened,
    *,
    mode: FusionMode,
    task_says: object,
    environment: Mapping[str, str],
    expected: bool,
) -> None:
    directory = task_directory(tmp_path, trace=trace(), task={"fusion": task_says}, exit_code=0)
    record = collect_task(directory, CollectOptions(fusion=mode, environment=environment))
    assert (record.gpu_metrics is not None) is expected
    assert bool(traces_in(opened)) is expected


def test_sc_004_the_trace_is_opened_once(tmp_path: Path, opened: Opened) -> None:
    collect_task(task_directory(tmp_path, trace=trace(), exit_code=0), ON)
    assert len(traces_in(opened)) == 1


@pytest.mark.parametrize("gpu", [..., None, {}])
def test_as_2_sc_002_a_cpu_task_has_no_gpu_metrics(tmp_path: Path, gpu: object) -> None:
    record = collect_task(task_directory(tmp_path, trace=trace(gpu=gpu), exit_code=0), ON)
    assert record.gpu_metrics is None
    assert record["realtime"] == 1000


@pytest.mark.parametrize(
    ("source", "content", "realtime"),
    [
        ("auto", trace(), 1000),
        ("auto", trace(proc=...), 77),
        ("auto", trace(proc=[]), 77),
        ("trace.json", trace(), 1000),
        ("trace.json", trace(proc=...), 1500),
        ("command.trace", trace(), 77),
    ],
)
def test_figures_come_from_where_they_were_asked_for(
    tmp_path: Path, source: MetricsSource, content: dict[str, Any], realtime: int
) -> None:
    directory = task_directory(tmp_path, trace=content, command_trace=COMMAND_TRACE, exit_code=0)
    record = collect_task(directory, CollectOptions(fusion="on", metrics_from=source))
    assert record["realtime"] == realtime
    assert record.gpu_metrics == gpu_block()


def test_the_identity_comes_from_the_task_file(tmp_path: Path) -> None:
    task = {
        "task_id": "3",
        "hash": "12/345678",
        "process": "ALIGN",
        "name": "ALIGN (s1)",
        "tag": "s1",
        "attempt": 2,
        "submit": 1000,
        "start": 1500,
        "complete": 4000,
        "workdir": "/somewhere/else",
        "memory": 2**30,
    }
    record = collect_task(task_directory(tmp_path / HASHED_PATH, task=task, exit_code=0))
    assert {name: record[name] for name in task} == task
    assert record["duration"] == 3000
    assert record["realtime"] == 2500


def test_without_a_task_file_the_path_tells(tmp_path: Path) -> None:
    record = collect_task(task_directory(tmp_path / HASHED_PATH, exit_code=0))
    assert record["hash"] == "ab/cdef01"
    assert record["workdir"] == str(tmp_path / HASHED_PATH)
    assert record["task_id"] is None
    assert collect_task(task_directory(tmp_path / "ab" / "short"))["hash"] is None


def test_a_wrapped_command_without_executor_is_a_whole_record(tmp_path: Path) -> None:
    content = trace(probe=probe_block(exit=0), proc=proc_block())
    record = collect_task(task_directory(tmp_path, trace=content), ON)
    assert (record["status"], record["exit"]) == ("COMPLETED", 0)
    assert (record["hostname"], record["cpu_model"]) == ("node1", "A CPU")
    assert record["start"] == 1_700_000_000_000
    assert record["complete"] == 1_700_000_001_500
    assert record["realtime"] == 1000


def test_a_path_that_is_not_utf_8_can_be_written(tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    record = collect_task(task_directory(directory, exit_code=0))
    assert str(record["workdir"]).endswith("/\ufffd")
    assert str(record["workdir"]).encode()
