"""The published sample, through the command line and out again."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from collector.record import FIELDS, TraceRecord
from helpers.builders import HASHED_PATH, SAMPLE_TRACE, sample_trace, task_directory

PUBLISHED = {
    "%cpu": "104.5%",
    "%mem": "19.1%",
    "vmem": "23.7 GB",
    "rss": "64.8 MB",
    "peak_vmem": "38.4 GB",
    "peak_rss": "13.8 GB",
    "realtime": "11m 1s",
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work directory with one finished task that left the published sample."""
    task = {"task_id": "1", "hash": "ab/cdef01", "name": "TRAIN (s1)", "fusion": True}
    task_directory(
        tmp_path / "work" / HASHED_PATH, task=task, trace=SAMPLE_TRACE.read_bytes(), exit_code=0
    )
    return tmp_path / "work"


def collect(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    """Run `gpu-bench collect` and return the records that it prints."""
    assert main(["collect", *map(str, words)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_as_1_sc_001_the_sample_gives_the_published_figures(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = collect(capsys, work)
    record = TraceRecord({name: line[name] for name in FIELDS})

    assert {name: record.fmt(name) for name in PUBLISHED} == PUBLISHED
    assert (line["status"], line["exit"], line["name"]) == ("COMPLETED", 0, "TRAIN (s1)")


def test_key_fr_002_the_twelve_gpu_keys_are_untouched_and_in_order(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = collect(capsys, work)
    assert list(line) == [*FIELDS, "gpu_metrics"]
    assert list(line["gpu_metrics"].items()) == list(sample_trace()["gpu"].items())
    assert len(line["gpu_metrics"]) == 12


def test_ec_2_with_fusion_off_there_are_no_gpu_metrics(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = collect(capsys, work, "--fusion", "off")
    assert line["gpu_metrics"] is None
    assert line["realtime"] is None
    assert line["status"] == "COMPLETED"


def test_fusion_enabled_of_the_environment_is_heard(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / HASHED_PATH / ".task.json").unlink()
    monkeypatch.setenv("FUSION_ENABLED", "false")
    assert collect(capsys, work)[0]["gpu_metrics"] is None
    monkeypatch.delenv("FUSION_ENABLED")
    assert collect(capsys, work)[0]["gpu_metrics"] is not None


def test_metrics_from_command_trace(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (work / HASHED_PATH / ".command.trace").write_text("nextflow.trace/v2\nrealtime=12021\n")
    (line,) = collect(capsys, work, "--metrics-from", "command.trace")
    assert line["realtime"] == 12021
    assert line["gpu_metrics"] == sample_trace()["gpu"]


@pytest.mark.parametrize("suffix", ["jsonl", "tsv"])
def test_the_records_may_go_to_a_file(
    work: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    file = work.parent / f"records.{suffix}"
    assert collect(capsys, work, "--to", file) == []
    text = file.read_text()
    if suffix == "jsonl":
        assert json.loads(text)["%mem"] == 19.121954
    else:
        (row,) = csv.DictReader(text.splitlines(), delimiter="\t")
        assert (row["%mem"], row["gpu_peak_mem"], row["tag"]) == ("19.121954", "74.140625", "-")


def test_collecting_twice_gives_the_same_bytes(work: Path) -> None:
    first, second = work.parent / "1.jsonl", work.parent / "2.jsonl"
    for file in (first, second):
        assert main(["collect", str(work), "--to", str(file)]) == 0
    assert first.read_bytes() == second.read_bytes()


def test_no_task_directory_is_said_and_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no task directory found" in captured.err


def test_a_directory_that_does_not_exist_is_one_clear_error(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", str(work), str(work / "none")]) == 125
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "none does not exist" in captured.err


@pytest.mark.parametrize("name", ["records.csv", "none/records.tsv"])
def test_a_target_that_cannot_be_written_is_an_error(
    work: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["collect", str(work), "--to", str(work.parent / name)]) == 125
    assert Path(name).name in capsys.readouterr().err
