"""`gpu-bench collect --platform` against the strict double, as a user runs it."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from helpers.builders import (
    HASHED_PATH,
    gpu_block,
    probe_block,
    proc_block,
    sample_trace,
    task_directory,
    trace,
)
from helpers.platform_server import TOKEN, PlatformDouble, platform_double


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PlatformDouble]:
    """A server, and the environment of a user of it, who is in an empty directory."""
    monkeypatch.chdir(tmp_path)
    with platform_double() as server:
        monkeypatch.setenv("TOWER_API_ENDPOINT", server.endpoint)
        monkeypatch.setenv("TOWER_ACCESS_TOKEN", TOKEN)
        yield server


def task(number: int, **parts: Any) -> Path:  # noqa: ANN401 - those of task_directory
    identity = {"task_id": str(number), "name": f"p ({number})", "process": "p"}
    directory = Path("work") / f"{number:02x}" / f"{number:030x}"
    return task_directory(
        directory, **{"task": identity, "exit_code": 0, "trace": trace(), **parts}
    )


def by_name(server: PlatformDouble) -> dict[str, dict[str, Any]]:
    return {task["name"]: task for task in server.run.tasks.values()}


def test_a_run_of_its_own_is_created_begun_filled_and_completed(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    task(1)
    assert main(["collect", "work", "--platform", "--name", "rnaseq"]) == 0

    assert [made.call for made in double.calls] == ["create", "begin", "progress", "complete"]
    assert {made.body["runName"] for made in double.calls if "runName" in made.body} == {
        "rnaseq-gpu"
    }
    assert double.run.completed
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "gpu-bench: registered rnaseq-gpu: a run of its own, as a finished run cannot be added to",
        "gpu-bench: 1 task sent to rnaseq-gpu: https://watch.example/1",
    ]


def test_fr_004_sc_001_as_1_as_3_fr_005_the_first_terminal_update_has_the_whole_gpu_block(
    double: PlatformDouble,
) -> None:
    gpu = {**sample_trace()["gpu"], "new_key": {"per": ["device", None, 1.5]}}
    task(1, trace=trace(gpu=gpu))
    task(2, trace=trace(gpu=gpu), exit_code=1)
    task(3, trace=trace(gpu=gpu, probe=probe_block(signal=9, exit=None)), exit_code=None)

    assert main(["collect", "work", "--platform"]) == 0
    first: dict[int, dict[str, Any]] = {}
    for body in double.bodies("progress"):
        for sent in body["tasks"]:
            if sent["status"] in ("COMPLETED", "FAILED", "ABORTED"):
                first.setdefault(sent["taskId"], sent)
    assert {sent["status"] for sent in first.values()} == {"COMPLETED", "FAILED"}
    assert [sent["gpuMetrics"] for sent in first.values()] == [gpu] * 3
    assert [list(sent["gpuMetrics"]) for sent in first.values()] == [list(gpu)] * 3


def test_as_2_as_4_sc_002_sc_003_without_gpu_figures_tasks_are_sent_without_them(
    double: PlatformDouble, caplog: pytest.LogCaptureFixture
) -> None:
    task(1, trace=trace(gpu=...))
    task(2, trace=trace(gpu=None))
    task(3, trace=None)
    task(4, trace=b'{"proc": {"realtime"')
    assert main(["collect", "work", "--platform"]) == 0

    tasks = by_name(double)
    assert sorted(tasks) == ["p (1)", "p (2)", "p (3)", "p (4)"]
    assert [sent["status"] for sent in tasks.values()] == ["COMPLETED"] * 4
    assert not any("gpuMetrics" in sent for sent in tasks.values())
    assert tasks["p (1)"]["realtime"] == 1000


def test_fr_007_with_fusion_off_no_gpu_figures_are_sent(double: PlatformDouble) -> None:
    task(1)
    assert main(["collect", "work", "--platform", "--fusion", "off"]) == 0
    assert "gpuMetrics" not in by_name(double)["p (1)"]


def test_a_damaged_figure_costs_only_itself(double: PlatformDouble) -> None:
    """One ill-typed value would make the server refuse a whole request of 100 tasks."""
    bad = gpu_block(mem="lots", pct=None, avg_mem=6159.4, active_time=2**70, peak=True, name=7)
    task(1, trace=trace(gpu=bad, proc=proc_block(rss=2**62, pct_cpu="x")))
    task(2)
    assert main(["collect", "work", "--platform"]) == 0

    tasks = by_name(double)
    assert len(tasks) == 2
    sent = tasks["p (1)"]["gpuMetrics"]
    assert sent["avg_mem"] == 6159
    assert isinstance(sent["avg_mem"], int)
    assert not {"mem", "pct", "active_time", "peak", "name"} & set(sent)
    assert sent["driver"] == bad["driver"]


def test_the_end_of_the_run_has_the_gpu_series(double: PlatformDouble) -> None:
    for number, (pct, peak, mean) in enumerate(
        [(75, 11388, 6161), (90, 12000, 7000), (60, 9000, 5000), (85, 11500, 6500)], start=1
    ):
        task(number, trace=trace(gpu=gpu_block(pct=pct, peak_mem_used=peak, avg_mem=mean)))
    task(5, trace=trace(gpu=...))
    assert main(["collect", "work", "--platform"]) == 0

    (metrics,) = double.run.metrics
    assert metrics["process"] == "p"
    assert metrics["gpuUsage"]["q1"] == 71.25
    assert metrics["gpuUsage"]["minLabel"] == "p (3)"
    assert metrics["gpuMemPeak"]["mean"] == 10972
    assert metrics["gpuMemAvg"]["q1"] == 5870.75
    assert metrics["mem"]["min"] == 1500 * 1024


def test_env_and_script_are_sent_only_when_they_are_named(double: PlatformDouble) -> None:
    secret = {"script": "curl $SECRET_PLACE", "env": "AWS_X=1\nMODE=fast\n", "name": "p (1)"}
    task(1, task=secret)
    assert main(["collect", "work", "--platform", "--name", "a"]) == 0
    assert not {"script", "env"} & set(by_name(double)["p (1)"])

    double.runs.clear()
    words = ["collect", "work", "--platform", "--name", "b", "--include", "env"]
    assert main(words) == 0
    sent = by_name(double)["p (1)"]
    assert sent["env"] == "AWS_X=[secure]\nMODE=fast\n"
    assert "script" not in sent


def test_mock_traces_are_refused(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    task(1)
    task(2, trace=trace(probe=probe_block(mock=True)))
    assert main(["collect", "work", "--platform"]) == 0
    assert list(by_name(double)) == ["p (1)"]
    assert "1 task was measured on the mock driver, and not sent" in capsys.readouterr().err


def test_mock_traces_alone_are_an_error(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    task(1, trace=trace(probe=probe_block(mock=True)))
    assert main(["collect", "work", "--platform"]) == 125
    assert "traces of the mock driver are refused" in capsys.readouterr().err
    assert double.bodies("progress") == []


def test_dry_run_prints_the_calls_and_needs_neither_token_nor_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    task(1)
    task(2, trace=trace(probe=probe_block(mock=True)))
    assert main(["collect", "work", "--platform", "--dry-run"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["call"] for line in lines] == ["create", "begin", "progress", "complete"]
    assert [sent["name"] for sent in lines[2]["body"]["tasks"]] == ["p (1)"]
    assert lines[2]["path"] == "/trace/WORKFLOW/progress"
    assert not Path(".gpu-bench").exists()


def test_what_dry_run_prints_is_what_is_sent(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1, 4):
        task(number, exit_code=number % 2)
    assert main(["collect", "work", "--platform", "--dry-run"]) == 0
    printed = [json.loads(line)["body"] for line in capsys.readouterr().out.splitlines()]
    assert main(["collect", "work", "--platform"]) == 0
    assert printed[2]["tasks"] == double.bodies("progress")[0]["tasks"]
    assert printed[3]["metrics"] == double.bodies("complete")[0]["metrics"]


def test_collecting_again_sends_nothing_again(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    task(1)
    task(2)
    assert main(["collect", "work", "--platform"]) == 0
    calls = len(double.calls)
    capsys.readouterr()
    assert main(["collect", "work", "--platform"]) == 0
    assert len(double.calls) == calls
    assert "0 tasks sent" in capsys.readouterr().err


def test_a_finished_run_cannot_be_added_to_and_that_is_said(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    task(1)
    assert main(["collect", "work", "--platform", "--name", "x"]) == 0
    task(2)
    capsys.readouterr()
    assert main(["collect", "work", "--platform", "--name", "x"]) == 125
    said = capsys.readouterr().err
    assert "a finished run cannot be added to" in said
    assert "--name" in said
    assert main(["collect", "work", "--platform", "--name", "y"]) == 0


def test_tasks_of_one_short_hash_are_two_tasks(double: PlatformDouble) -> None:
    for tail in ("0123456789abcdef01234567", "0123456789abcdef0123456f"):
        task_directory(Path("work/ab") / f"cdef01{tail}", exit_code=0, task={"name": tail})
    assert main(["collect", "work", "--platform"]) == 0
    assert sorted(double.run.tasks) == [1, 2]
    assert {task["hash"] for task in double.run.tasks.values()} == {"ab/cdef01"}


def test_3_2_an_old_token_goes_by_basic_authentication(
    double: PlatformDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "4ffbf1009ebabea77db3d72efefa836dfbb71271"
    encoded = base64.b64encode(f"@token:{token}".encode()).decode()
    double.authorizations = {f"Basic {encoded}"}
    monkeypatch.setenv("TOWER_ACCESS_TOKEN", token)
    task(1)
    assert main(["collect", "work", "--platform"]) == 0
    assert double.run.completed


def test_3_2_the_headers_of_a_call(double: PlatformDouble) -> None:
    task(1)
    assert main(["collect", "work", "--platform"]) == 0
    for made in double.calls:
        assert made.headers["content-type"] == "application/json; charset=utf-8"
        assert made.headers["user-agent"].startswith("gpu-bench/")
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", made.headers["traceparent"])
        assert isinstance(made.body["instant"], int)
    assert len({made.headers["traceparent"] for made in double.calls}) == 4


def test_the_workspace_is_in_every_call(
    double: PlatformDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWER_WORKSPACE_ID", "1234")
    task_directory(Path("work") / HASHED_PATH, exit_code=0)
    assert main(["collect", "work", "--platform"]) == 0
    assert [made.query for made in double.calls] == [{"workspaceId": ["1234"]}] * 4


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TOWER_ACCESS_TOKEN", "", "TOWER_ACCESS_TOKEN"),
        ("TOWER_ACCESS_TOKEN", "abc\ndef", "unexpected characters"),
        ("TOWER_API_ENDPOINT", "ftp://x.example", "only http and https are supported"),
        ("TOWER_API_ENDPOINT", "https://user:hunter2@x.example", "no user, password"),
        ("TOWER_API_ENDPOINT", "http://127.0.0.1:99999", "bad port"),
        ("TOWER_WORKSPACE_ID", "my-team", "must be a number"),
    ],
)
def test_a_wrong_environment_is_an_error_at_the_start(
    double: PlatformDouble,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    name: str,
    value: str,
    said: str,
) -> None:
    monkeypatch.setenv(name, value)
    task(1)
    assert main(["collect", "work", "--platform"]) == 125
    captured = capsys.readouterr().err
    assert said in captured
    assert captured.count("\n") == 1
    assert "hunter2" not in captured
    assert double.calls == []
    assert not Path(".gpu-bench").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--name", "x"],
        ["--spool", "s"],
        ["--include", "env"],
        ["--patience", "5"],
        ["--platform", "--to", "r.jsonl"],
        ["--platform", "--name", "a/b"],
        ["--platform", "--name", ".."],
        ["--platform", "--patience", "nan"],
        ["--platform", "--patience", "-1"],
        ["--platform", "--include", "hash"],
    ],
)
def test_options_that_make_no_sense_are_usage_errors(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    task(1)
    assert main(["collect", "work", *words]) == 125
    assert capsys.readouterr().err.count("\n") == 1
    assert double.bodies("progress") == []


def test_an_endpoint_that_is_no_platform_is_an_error_at_the_start(
    double: PlatformDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOWER_API_ENDPOINT", f"{double.endpoint}/api/v0")
    task(1)
    assert main(["collect", "work", "--platform"]) == 125
    captured = capsys.readouterr().err
    assert "404" in captured
    assert "TOWER_API_ENDPOINT" in captured
