import json
import os
from pathlib import Path

import pytest

from collector.errors import SinkRejected
from collector.files import write_atomic
from collector.record import FIELDS, GPU_KEYS
from collector.sinks import (
    JsonlSink,
    Sink,
    TsvSink,
    check_target,
    encode_jsonl,
    encode_tsv,
    write_target,
)
from helpers.builders import gpu_block, record, sample_trace


@pytest.fixture(params=["jsonl", "tsv"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Sink:
    path = tmp_path / f"records.{request.param}"
    return JsonlSink(path=path) if request.param == "jsonl" else TsvSink(path=path)


def test_a_json_line_has_the_44_fields_and_the_whole_gpu_block(tmp_path: Path) -> None:
    gpu = gpu_block(new_key=[1, None])
    path = tmp_path / "r.jsonl"
    count = JsonlSink(path=path).write([record({"rss": 1024}, gpu=gpu), record()])

    assert count == 2
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert list(first) == [*FIELDS, "gpu_metrics"]
    assert first["rss"] == 1024
    assert first["tag"] is None
    assert first["gpu_metrics"] == gpu
    assert second["gpu_metrics"] is None


def test_as_1_key_the_gpu_block_of_the_sample_is_written_untouched_and_in_order(
    tmp_path: Path,
) -> None:
    gpu = sample_trace()["gpu"]
    path = tmp_path / "r.jsonl"
    JsonlSink(path=path).write([record(gpu=gpu)])
    assert list(json.loads(path.read_text())["gpu_metrics"].items()) == list(gpu.items())


def test_sc_003_a_value_that_json_cannot_hold_costs_only_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows: list[dict[str, object]] = [{"a": 1}, {"a": 2**64, "b": [2**64], "c": 3}, {"a": 4}]
    lines = [json.loads(line) for line in encode_jsonl(rows).splitlines()]
    assert lines == [{"a": 1}, {"a": None, "b": None, "c": 3}, {"a": 4}]
    assert "a, b" in caplog.text


def test_a_tsv_row_has_the_44_fields_and_twelve_gpu_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    TsvSink(path=path).write([record({"%cpu": 99.7}, gpu=gpu_block(pct=60)), record()])

    header, first, second = (line.split("\t") for line in path.read_text().splitlines())
    assert header == [*FIELDS, *(f"gpu_{key}" for key in GPU_KEYS)]
    assert dict(zip(header, first, strict=True))["%cpu"] == "99.7"
    assert dict(zip(header, first, strict=True))["gpu_pct"] == "60"
    assert dict(zip(header, second, strict=True))["gpu_pct"] == "-"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, "-"),
        (0, "0"),
        (True, "true"),
        (False, "false"),
        (["a", "b"], "a,b"),
        (40.11115345483025, "40.11115345483025"),
        ("a\tb\nc\rd\\e", r"a\tb\nc\rd\\e"),
    ],
)
def test_cells_are_raw_values_without_separators(value: object, cell: str) -> None:
    assert encode_tsv(["c"], [{"c": value, "other": 1}]) == f"c\n{cell}\n".encode()


def test_no_records_make_a_file_too(sink: JsonlSink | TsvSink) -> None:
    assert sink.write([]) == 0
    assert sink.path.read_text().count("\n") == (sink.path.suffix == ".tsv")


def test_a_file_is_replaced_whole(sink: JsonlSink | TsvSink) -> None:
    sink.path.write_text("old")
    sink.write([record()])
    assert "COMPLETED" in sink.path.read_text()
    assert "old" not in sink.path.read_text()
    assert list(sink.path.parent.iterdir()) == [sink.path]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_target(tmp_path / "link", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.jsonl"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(SinkRejected, match="No space left"):
        JsonlSink(path=path).write([record()])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_created_with_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_atomic(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_is_no_regular_file_is_no_target(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.tsv")
    (tmp_path / "device.tsv").symlink_to("/dev/null")
    (tmp_path / "away.tsv").symlink_to(tmp_path / "none" / "new.tsv")
    (tmp_path / "loop.tsv").symlink_to("loop.tsv")
    for name, reason in (
        ("fifo", "is not a regular file"),
        ("device", "is not a regular file"),
        ("away", "does not exist"),
        ("loop", "links"),
    ):
        with pytest.raises(SinkRejected, match=f"{name}.tsv.*{reason}"):
            check_target(tmp_path / f"{name}.tsv")


def test_a_link_to_a_regular_file_or_to_none_yet_is_a_target(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link.tsv").symlink_to("d/new.tsv")
    for _ in range(2):
        check_target(tmp_path / "link.tsv")
        write_target(tmp_path / "link.tsv", b"new")
        assert (tmp_path / "d" / "new.tsv").read_bytes() == b"new"


def test_a_target_that_cannot_be_looked_at_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", fail)
    with pytest.raises(SinkRejected, match="Permission denied"):
        check_target(tmp_path / "new.tsv")


def test_targets_are_checked_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_target(tmp_path / "new.tsv")
    with pytest.raises(SinkRejected, match="does not exist"):
        check_target(tmp_path / "none" / "new.tsv")
    with pytest.raises(SinkRejected, match="is a directory"):
        check_target(tmp_path)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(SinkRejected, match="not writable"):
        check_target(tmp_path / "new.tsv")
