import io
import logging
from pathlib import Path

import pytest

from collector.benchmark import Repeat
from collector.cli import main
from collector.cli.arguments import UsageError, parse_arguments
from collector.cli.table import render_table, wants_color
from collector.executors import Task, TaskResult
from collector.record import FieldValue, TraceRecord
from helpers.builders import gpu_block, record

PLAIN_ROW = "1       COMPLETED  0     1m 2s  99.8   1 KiB     60 / 80                  4.0 of 16.0"


def repeat(described: TraceRecord, *, index: int = 1, exit_status: int = 0) -> Repeat:
    task = Task(task_id="1", hash="h", process="p", argv=("x",), workdir=Path("/w"))
    result = TaskResult(
        task=task, exit_status=exit_status, native_id=None, start_ms=0, complete_ms=1
    )
    return Repeat(index=index, result=result, record=described)


def test_what_follows_the_dashes_is_the_command() -> None:
    parsed = parse_arguments(["run", "--file", "b.tsv", "--", "cmd", "--file", "--", "x"])
    assert parsed.command == ["cmd", "--file", "--", "x"]
    assert parsed.file == Path("b.tsv")


def test_the_defaults_of_run() -> None:
    parsed = parse_arguments(["run", "--file", "b.tsv", "--", "cmd"])
    assert (parsed.repeats, parsed.work_dir, parsed.emit, parsed.input) == (1, Path("work"), [], [])
    assert [parsed.here, parsed.force, parsed.ignore_failure, parsed.quiet] == [False] * 4


def test_the_defaults_of_collect() -> None:
    parsed = parse_arguments(["collect", "a", "b"])
    assert parsed.directories == [Path("a"), Path("b")]
    assert (parsed.to, parsed.fusion, parsed.metrics_from) == (None, "auto", "auto")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--file", "b.tsv"],
        ["run", "--file", "b.tsv", "--"],
        ["run", "--file", "b.tsv", "cmd"],
        ["run", "--", "cmd"],
        ["run", "--file", "b.tsv", "--repeats", "x", "--", "cmd"],
        ["run", "--fil", "b.tsv", "--", "cmd"],
        ["collect"],
        ["collect", "--fusion", "maybe", "d"],
        ["nothing"],
        [],
    ],
)
def test_usage_errors_are_one_line_and_125(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 125
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpu-bench: error: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "--repeat", "2"], "--repeats"),
        (["run", "--file", "b.tsv", "--repeat", "2", "--", "cmd"], "--repeats"),
        (["run", "--file=b.tsv", "--quiet", "--tags=x", "--", "cmd"], "--tag"),
        (["run", "--fil", "b.tsv"], "--file"),
        (["collect", "--fussion", "on", "d"], "--fusion"),
    ],
)
def test_an_unknown_option_is_said_with_the_nearest_one(words: list[str], meant: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_arguments(words)
    assert f"did you mean {meant}?" in str(raised.value)
    assert f"gpu-bench {words[0]} --help" in str(raised.value)


def test_an_unknown_option_that_is_near_no_other() -> None:
    with pytest.raises(UsageError) as raised:
        parse_arguments(["run", "-z", "--", "cmd"])
    assert str(raised.value) == "-z: no such option (see gpu-bench run --help)"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "train.py", "--epochs", "3"],
        ["run", "--file", "b.tsv", "--quiet", "train.py", "--epochs", "3"],
        ["run", "--file=b.tsv", "train.py", "--", "x"],
        ["run", "--repeats", "2"],
        ["run", "--file", "b.tsv", "--"],
    ],
)
def test_a_command_without_dashes_is_said_with_the_usage(words: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        parse_arguments(words)
    assert "comes after --" in str(raised.value)
    assert "usage: gpu-bench run --file FILE [options] -- COMMAND [ARG...]" in str(raised.value)


def test_an_option_without_its_value_is_named() -> None:
    with pytest.raises(UsageError, match="argument --tag: expected one argument"):
        parse_arguments(["run", "--file", "b.tsv", "--tag", "--quiet", "--", "cmd"])
    assert parse_arguments(["run", "--file", "b.tsv", "--tag=--x", "--", "c"]).tag == "--x"


def test_directories_of_collect_may_follow_dashes() -> None:
    assert parse_arguments(["collect", "--", "--odd"]).directories == [Path("--odd")]


def test_a_usage_error_is_no_exit() -> None:
    with pytest.raises(UsageError, match="invalid choice"):
        parse_arguments(["nothing"])


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["collect", "--help"]])
def test_help_is_printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    assert "usage: gpu-bench" in capsys.readouterr().out


def test_the_log_is_shown_while_a_command_runs_and_not_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".task.json").write_text("{")
    before = list(logging.getLogger("collector").handlers)
    assert main(["collect", str(tmp_path)]) == 0
    assert "gpu-bench: warning: " in capsys.readouterr().err
    assert logging.getLogger("collector").handlers == before


def test_an_interrupted_collect_wrote_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("collector.cli.collect.stream_directories", interrupt)
    assert main(["collect", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "gpu-bench: interrupted; nothing was written\n"


def test_an_unexpected_error_is_125(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("collector.cli.collect.stream_directories", fail)
    assert main(["collect", str(tmp_path)]) == 125
    assert "unexpected RuntimeError: a bug" in capsys.readouterr().err


def test_the_table_uses_plain_words_and_units() -> None:
    fields: dict[str, FieldValue] = {
        "realtime": 61800,
        "%cpu": 99.8,
        "peak_rss": 1024,
        "hash": "ab/cdef01",
    }
    table = render_table([repeat(record(fields, gpu=gpu_block()))], color=False)
    header, row = table.splitlines()
    assert "GPU busy % (mean / max)" in header
    assert "VRAM peak GiB of total" in header
    assert row.startswith(PLAIN_ROW)
    assert row.endswith("ab/cdef01")


@pytest.mark.parametrize("gpu", [None, {"pct": "x", "peak": True, "mem": None}])
def test_the_table_shows_a_dash_where_nothing_is_known(gpu: dict[str, object] | None) -> None:
    cells = render_table([repeat(record(gpu=gpu))], color=False).splitlines()[1].split()
    assert cells == ["1", "COMPLETED", "0", "-", "-", "-", "-", "-", "-"]


def test_the_table_says_that_the_driver_was_the_mock() -> None:
    mocked = render_table([repeat(record(probe={"mock": True}))], color=False)
    measured = render_table([repeat(record(probe={"mock": False}))], color=False)
    assert "mock driver" in mocked
    assert "mock driver" not in measured


def test_colour_marks_the_status_only() -> None:
    failed = repeat(record({"status": "FAILED"}), exit_status=1)
    assert "\033[31mFAILED\033[0m" in render_table([failed], color=True)
    assert "\033[32mCOMPLETED\033[0m" in render_table([repeat(record())], color=True)
    assert "\033" not in render_table([failed], color=False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    stream: io.StringIO, environment: dict[str, str], expected: bool
) -> None:
    assert wants_color(stream, environment) is expected
