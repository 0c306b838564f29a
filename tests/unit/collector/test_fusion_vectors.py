"""Vectors of Nextflow's own tests for the Fusion trace, by number (F1 to F8), and its decisions."""

from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, collect_task
from collector.errors import TraceMalformed
from collector.trace import parse_trace, read_trace
from helpers.builders import gpu_block, sample_trace, task_directory, trace

GPU = {"name": "Tesla T4", "pct": 75, "peak": 100}
ON = CollectOptions(fusion="on")
COMMAND_TRACE = "nextflow.trace/v2\nrealtime=99999\n"


def as_nextflow(value: str | None, *, fusion: bool = True) -> CollectOptions:
    environment = {} if value is None else {"NXF_FUSION_TRACE": value}
    return CollectOptions(
        fusion="on" if fusion else "off", metrics_from="nextflow", environment=environment
    )


def figures() -> dict[str, Any]:
    sample = sample_trace()
    sample["proc"] |= {"cpu_name": "Intel CPU", "vmem": 1000, "rss": 500}
    return sample


def test_f1_the_gpu_block_is_taken(tmp_path: Path) -> None:
    content = {"proc": {"realtime": 100}, "gpu": GPU}
    assert collect_task(task_directory(tmp_path, trace=content), ON).gpu_metrics == GPU


def test_f2_not_without_fusion(tmp_path: Path) -> None:
    directory = task_directory(tmp_path, trace={"gpu": GPU})
    assert collect_task(directory, CollectOptions(fusion="off")).gpu_metrics is None


def test_f3_no_file_is_no_error(tmp_path: Path) -> None:
    assert collect_task(task_directory(tmp_path, exit_code=0), ON).gpu_metrics is None


def test_f4_with_nxf_fusion_trace_the_figures_are_mapped(tmp_path: Path) -> None:
    record = collect_task(task_directory(tmp_path, trace=figures()), as_nextflow("true"))
    expected = {
        "vmem": 25469927424,
        "rss": 67919872,
        "peak_vmem": 41178980352,
        "peak_rss": 14783070208,
        "realtime": 660541,
        "%cpu": 104.5,
        "cpu_model": "Intel CPU",
    }
    assert {name: record[name] for name in expected} == expected
    assert record.gpu_metrics == figures()["gpu"]


def test_f5_without_it_only_the_gpu_block_is_taken(tmp_path: Path) -> None:
    record = collect_task(task_directory(tmp_path, trace=figures()), as_nextflow("false"))
    assert record.gpu_metrics == figures()["gpu"]
    assert (record["realtime"], record["vmem"]) == (None, None)


def test_f6_with_it_command_trace_is_not_read(tmp_path: Path) -> None:
    content = trace(proc={"realtime": 1000}, probe=...)
    directory = task_directory(tmp_path, trace=content, command_trace=COMMAND_TRACE)
    assert collect_task(directory, as_nextflow("true"))["realtime"] == 1000


@pytest.mark.parametrize(
    ("value", "fusion", "realtime"),
    [
        ("true", True, 1000),
        ("TRUE", True, 99999),
        ("1", True, 99999),
        (None, True, 99999),
        ("false", True, 99999),
        ("true", False, 99999),
    ],
)
def test_f7_the_decision_table(
    tmp_path: Path, *, value: str | None, fusion: bool, realtime: int
) -> None:
    directory = task_directory(tmp_path, trace=trace(), command_trace=COMMAND_TRACE)
    record = collect_task(directory, as_nextflow(value, fusion=fusion))
    assert record["realtime"] == realtime
    assert (record.gpu_metrics is not None) is fusion


def test_f7_with_it_a_missing_trace_has_no_fallback(tmp_path: Path) -> None:
    directory = task_directory(tmp_path, command_trace=COMMAND_TRACE, exit_code=0)
    assert collect_task(directory, as_nextflow("true"))["realtime"] is None


def test_f8_without_a_gpu_block_and_malformed(tmp_path: Path) -> None:
    directory = task_directory(tmp_path, trace=trace(gpu=...))
    assert read_trace(directory / ".fusion" / "trace.json").gpu is None
    with pytest.raises(TraceMalformed):
        parse_trace(b"{ not json", source=directory)


def test_a_fault_of_the_figures_does_not_lose_the_gpu_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("collector.collect.assembly.metrics_of", fail)
    record = collect_task(task_directory(tmp_path, trace=trace(), exit_code=1), ON)
    assert record.gpu_metrics == gpu_block()
    assert record["status"] == "FAILED"
