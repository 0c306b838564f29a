import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.executors import LocalExecutor, Task
from collector.executors.ending import end_group, interrupts_held


@pytest.fixture(autouse=True)
def heard_interrupt() -> Iterator[None]:
    """A test hears an interrupt, also where it was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def started(script: str) -> "subprocess.Popen[bytes]":
    """Start a shell in a session of its own, and wait until it has written a line."""
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def is_over(process: "subprocess.Popen[bytes]") -> bool:
    """Say, at the latest after 10 s, whether nobody holds the process's output any more."""
    _, errors = process.communicate(timeout=10)
    return errors is None


@pytest.mark.parametrize("script", ["sleep 83; echo", "sleep 83 & echo; exec sleep 84"])
def test_the_whole_group_is_ended(script: str) -> None:
    process = started(f"echo; {script}")
    end_group(process)
    assert process.returncode == -signal.SIGTERM
    assert is_over(process)


def test_what_ignores_the_signal_is_killed_after_the_grace_time() -> None:
    process = started("(trap '' TERM; sleep 83; sleep 84) & echo; exec sleep 85")
    end_group(process, grace_s=0.2)
    assert process.returncode == -signal.SIGTERM
    assert is_over(process)


def test_a_held_interrupt_comes_afterwards() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012 - what is held
        os.kill(os.getpid(), signal.SIGINT)
        reached.append(1)
    assert reached == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_the_task_is_started_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:  # noqa: ANN401 - Popen's own
            super().__init__(*words, **options)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    argv = (sys.executable, "-c", "import time; time.sleep(83)")
    task = Task(task_id="1", hash="h", process="P", argv=argv, workdir=tmp_path / "w")
    executor = LocalExecutor(wrapper=None)
    executor.submit(task)
    with pytest.raises(KeyboardInterrupt):
        executor.wait(task)
    assert (tmp_path / "w" / ".exitcode").read_text() == "143\n"
