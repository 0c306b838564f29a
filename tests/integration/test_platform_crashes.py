"""A collection that is killed or interrupted loses nothing, and sends nothing twice."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from collector.cli import main
from collector.platform import Spool
from helpers.platform_server import Fault, PlatformDouble
from helpers.platform_tasks import COLLECT, SPOOL, assert_all_arrived_once

CODE = "import sys; from collector.cli import main; sys.exit(main())"


def test_a_killed_collection_loses_nothing_and_sends_nothing_twice(
    double: PlatformDouble, place: Path
) -> None:
    """Killed when the server has taken the second batch and before it could say so."""
    seen = threading.Event()

    def script(call: str, _number: int) -> Fault | None:
        if call == "progress" and len(double.bodies("progress")) == 2:
            seen.set()
            return Fault(kind="silent", after=True)
        return None

    double.script = script
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *COLLECT],
        cwd=place,
        stderr=subprocess.DEVNULL,
    )
    assert seen.wait(60)
    process.kill()
    process.wait()
    double.released.set()
    assert main(COLLECT) == 0
    assert_all_arrived_once(double)
    assert double.run.dropped == 100  # the batch of which the answer never came
    calls = [made.call for made in double.calls]
    assert calls.count("create") == calls.count("begin") == 1


def _interrupted(double: PlatformDouble, place: Path, code: str, *, batch: int) -> str:
    """Interrupt a collection when the server is silent about a batch; return what was said."""
    seen = threading.Event()

    def script(call: str, _number: int) -> Fault | None:
        if call == "progress" and len(double.bodies("progress")) == batch:
            seen.set()
            return Fault(kind="silent")
        return None

    double.script = script
    process = subprocess.Popen(
        [sys.executable, "-c", code, *COLLECT], cwd=place, stderr=subprocess.PIPE, text=True
    )
    assert seen.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    double.released.set()
    double.script = lambda _name, _number: None
    assert process.returncode == 130
    assert "no answer within" not in said
    return said


def test_an_interrupt_keeps_what_was_not_sent(double: PlatformDouble, place: Path) -> None:
    """The last batch is sent when all tasks are handed over, so sending can end the run."""
    assert "gpu-bench send .gpu-bench/x-gpu" in _interrupted(double, place, CODE, batch=3)
    assert main(["send", str(SPOOL)]) == 0
    assert_all_arrived_once(double)


def test_a_run_that_was_not_collected_to_its_end_is_not_ended(
    double: PlatformDouble, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted after 100 of 250 tasks: a server takes nothing more once a run has ended."""
    code = (
        "import sys, threading; from collector.cli import main; import collector.cli.platform as p;"
        "write = p.PlatformSink.write\n"
        "def some(records):\n"
        "    yield from records[:100]\n"
        "    threading.Event().wait()\n"
        "p.PlatformSink.write = lambda self, records: write(self, some(records))\n"
        "sys.exit(main())"
    )
    said = _interrupted(double, place, code, batch=1)
    assert "collect again" in said
    assert "gpu-bench send" not in said
    assert main(["send", str(SPOOL)]) == 125
    assert "collect again" in capsys.readouterr().err
    assert len(double.run.tasks) == 100
    assert not double.run.completed
    assert main(COLLECT) == 0
    assert_all_arrived_once(double)


def test_a_second_collection_that_is_interrupted_leaves_the_run_open(
    double: PlatformDouble, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first one kept can be sent, but it does not say any more that this is all."""
    double.script = lambda _name, _number: Fault(status=503)
    assert main([*COLLECT, "--patience", "0"]) == 0

    def interrupt(_self: object, _records: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("collector.cli.platform.PlatformSink.write", interrupt)
        assert main([*COLLECT, "--patience", "0"]) == 130
    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 125
    assert not double.run.completed
    assert main(COLLECT) == 0
    assert_all_arrived_once(double)


def test_a_spool_in_use_is_left_alone(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    double.fail(None, Fault(status=503))
    assert main([*COLLECT, "--patience", "0"]) == 0
    spool = Spool.open(SPOOL)
    capsys.readouterr()
    assert main(["send", str(SPOOL)]) == 125
    assert "in use by another gpu-bench" in capsys.readouterr().err
    spool.close()
    assert main(["send", str(SPOOL)]) == 0


def test_send_wants_a_spool(double: PlatformDouble, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "work"]) == 125
    assert "work is no spool" in capsys.readouterr().err
