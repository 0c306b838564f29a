"""Columns of a TSV file as Nextflow's trace.txt has them (T16)."""

from pathlib import Path

import pytest

from collector.cli import main
from collector.errors import FormatUnknown
from collector.record import FieldValue
from collector.sinks import TsvSink, parse_columns
from helpers.builders import gpu_block, record

FIELDS: dict[str, FieldValue] = {
    "task_id": "5",
    "syscr": 10,
    "syscw": 20,
    "rss": 10 * 2**20,
    "%cpu": 99.7,
    "submit": 1412596982622,
}


def rows(path: Path, fields: str, *, raw: bool = False) -> list[list[str]]:
    TsvSink(path=path, columns=parse_columns(fields, raw=raw)).write(
        [record(FIELDS, gpu=gpu_block()), record()]
    )
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_t16_custom_fields(tmp_path: Path) -> None:
    header, _, row = rows(tmp_path / "t.tsv", "task_id,syscr,syscw,rss,rss:num")
    assert header == ["task_id", "syscr", "syscw", "rss", "rss"]
    assert row == ["5", "10", "20", "10 MB", "10485760"]


def test_the_default_columns_of_trace_txt_and_ours(tmp_path: Path) -> None:
    header, _, row = rows(tmp_path / "t.tsv", "trace.txt, gpu")
    assert header[:5] == ["task_id", "hash", "native_id", "name", "status"]
    assert len(header) == 14 + 12
    cells = dict(zip(header, row, strict=True))
    assert (cells["%cpu"], cells["submit"]) == ("99.7%", "2014-10-06 12:03:02.622")
    assert (cells["hash"], cells["gpu_pct"]) == ("-", "60")


def test_raw_mode(tmp_path: Path) -> None:
    _, _, row = rows(tmp_path / "t.tsv", "rss,%cpu,submit,duration", raw=True)
    assert row == ["10485760", "99.7", "1412596982622", "-"]


@pytest.mark.parametrize(
    ("fields", "hint"), [("peek_rss", "peak_rss"), ("rss:nope", "nope"), ("", "''")]
)
def test_an_unknown_field_is_refused_with_suggestions(fields: str, hint: str) -> None:
    with pytest.raises(FormatUnknown, match=hint):
        parse_columns(fields, raw=False)


@pytest.mark.parametrize(
    "words",
    [["--fields", "rss"], ["--raw", "--to", "x.tsv"], ["--fields", "rss", "--to", "x.jsonl"]],
)
def test_fields_are_for_tsv_files(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", ".", *words]) == 125
    assert "--raw" in capsys.readouterr().err
