"""Telemetry never hurts: whatever the server does, tasks are kept, and arrive later, once."""

import time
from pathlib import Path

import pytest

from collector.cli import main
from helpers.platform_server import TOKEN, Call, Fault, PlatformDouble, platform_double
from helpers.platform_tasks import (
    COLLECT,
    SPOOL,
    TASKS,
    assert_all_arrived_once,
    assert_no_token,
)

REFUSALS = {
    "401": Fault(status=401, body=f'{{"message": "bad token {TOKEN}"}}'.encode()),
    "403": Fault(status=403, body=b""),
    "redirect": Fault(status=307, headers={"Location": "http://127.0.0.2:1/trace/create"}),
    "ko": Fault(kind="ko"),
}
OUTAGES = {
    "429": Fault(status=429, headers={"Retry-After": "3600"}),
    "500": Fault(status=500, body=b"<html><title>Oh\n no</title></html>"),
    "503": Fault(status=503),
    "drop": Fault(kind="drop"),
    "drop after": Fault(kind="drop", after=True),
    "half": Fault(kind="half"),
    "half after": Fault(kind="half", after=True),
    "silent": Fault(kind="silent"),
    "drip": Fault(kind="drip"),
}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        *(("progress", kind) for kind in OUTAGES),
        *(
            (call, kind)
            for call in ("create", "begin", "complete")
            for kind in ("503", "half after")
        ),
    ],
)
def test_in_an_outage_tasks_are_kept_said_once_and_sent_later(
    double: PlatformDouble,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    call: str,
    kind: str,
) -> None:
    fault = OUTAGES[kind]
    double.script = lambda name, _number: fault if name == call else None
    assert main([*COLLECT, "--patience", "0"]) == 0
    said = capsys.readouterr().err
    assert said.count("warning: ") == 1
    assert "gpu-bench send .gpu-bench/x-gpu" in said
    assert SPOOL.exists()
    double.released.set()

    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 0
    assert_all_arrived_once(double)
    assert_no_token(place, said)


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("call", ["create", "progress"])
def test_what_must_be_put_right_first_is_an_error_and_nothing_is_lost(
    double: PlatformDouble,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    fault: Fault,
    call: str,
) -> None:
    double.script = lambda name, _number: fault if name == call else None
    assert main([*COLLECT, "--verbose"]) == 125
    said = capsys.readouterr().err
    assert said.count("warning: ") == 1
    assert "gpu-bench send .gpu-bench/x-gpu" in said.splitlines()[-1]
    assert len([made for made in double.calls if made.call == call]) == 1  # no use in repeating

    assert main(["send", str(SPOOL)]) == 125  # not yet
    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 0
    assert_all_arrived_once(double)
    assert_no_token(place, said, *capsys.readouterr())


def test_a_passing_fault_is_repeated_and_not_even_said(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    double.fail(Fault(status=502), None, Fault(kind="drop"), Fault(kind="half", after=True))
    assert main(COLLECT) == 0
    assert "warning" not in capsys.readouterr().err
    assert_all_arrived_once(double)


def test_retry_after_is_waited_for(double: PlatformDouble) -> None:
    double.fail(Fault(status=429, headers={"Retry-After": "1"}))
    before = time.monotonic()
    assert main(COLLECT) == 0
    assert time.monotonic() - before >= 1.0
    assert_all_arrived_once(double)


def test_one_task_that_is_refused_costs_no_other(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    """SC-003: it is reported itself too, without the figures that are not taken."""
    answer = double._answer

    def picky(made: Call) -> tuple[int, dict[str, object]]:
        tasks = made.body["tasks"] if made.call == "progress" else []
        if any(task["name"] == "p (42)" and "gpuMetrics" in task for task in tasks):
            return 400, {"message": "I do not like it"}
        return answer(made)

    double._answer = picky  # type: ignore[method-assign]
    assert main(COLLECT) == 0
    assert len(double.run.tasks) == TASKS
    assert set(double.run.ends.values()) == {1}
    assert double.run.completed
    assert capsys.readouterr().err.count("I do not like it") == 1
    assert b"p (42)" in (SPOOL / "rejected.jsonl").read_bytes()


def test_a_run_that_the_server_does_not_know_any_more_keeps_its_tasks(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    double.script = lambda name, _number: Fault() if name == "progress" else None
    assert main([*COLLECT, "--patience", "0"]) == 0
    double.script = lambda _name, _number: None
    double.runs.clear()
    capsys.readouterr()
    assert main(["send", str(SPOOL)]) == 125
    assert "Unknown workflow" in capsys.readouterr().err
    assert len(list((SPOOL / "pending").iterdir())) == 3


def test_another_server_than_the_run_s_gets_neither_token_nor_tasks(
    double: PlatformDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    double.script = lambda name, _number: Fault() if name == "progress" else None
    assert main([*COLLECT, "--patience", "0"]) == 0
    capsys.readouterr()
    with platform_double() as other:
        monkeypatch.setenv("TOWER_API_ENDPOINT", other.endpoint)
        assert main(["send", str(SPOOL)]) == 125
        assert double.endpoint in capsys.readouterr().err
        assert other.calls == []
