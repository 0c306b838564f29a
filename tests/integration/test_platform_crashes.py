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


def test_an_interrupt_keeps_what_was_not_sent(
    double: PlatformDouble, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = threading.Event()

    def script(call: str, _number: int) -> Fault | None:
        if call == "progress":
            seen.set()
            return Fault(kind="silent")
        return None

    double.script = script
    code = (
        "import sys; from collector.cli import main; import collector.collect as c;"
        "import collector.cli.collect as m;"
        "m.collect_directories = lambda roots, options: forever(c.collect_directories(roots,"
        " options));\n"
        "def forever(records):\n"
        "    yield from records\n"
        "    import threading; threading.Event().wait()\n"
        "sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *COLLECT], cwd=place, stderr=subprocess.PIPE, text=True
    )
    assert seen.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    double.released.set()
    assert process.returncode == 130
    assert "gpu-bench send .gpu-bench/x-gpu" in said
    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 0
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
