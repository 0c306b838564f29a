"""`gpu-bench run` when it is interrupted."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.cli import main
from helpers.bench import GPU_BENCH, TIMEOUT_S, Bench, counting, rows_of, runs, work_directories


@pytest.fixture(autouse=True)
def heard_signals() -> Iterator[None]:
    """A test hears the signals that end it, also where it was started in the background."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_ending_signal_ends_the_task_first(
    launch: Path, environment: dict[str, str], number: signal.Signals, status: int
) -> None:
    started, never = launch / "started", launch / "never"
    os.mkfifo(started)
    os.mkfifo(never)
    (launch / "b.tsv").write_text("old")
    script = f"echo $$ > {started}; exec cat {never}"
    words = ["run", "--file", "b.tsv", "--repeats", "2", "--", "sh", "-c", script]
    with subprocess.Popen(
        [*GPU_BENCH, *words], cwd=launch, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        pid = int(started.read_text())
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == status
    assert errors.splitlines() == [
        "gpu-bench: interrupted in repeat 1 of 2; b.tsv was not written, run it again"
    ]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert (launch / "b.tsv").read_text() == "old"
    exit_files = list((launch / "work").glob("??/*/.exitcode"))
    assert [file.read_text() for file in exit_files] == ["143\n"]
    assert work_directories(launch) == [file.parent for file in exit_files]


def test_an_interrupt_ends_what_the_command_started_too(
    launch: Path, environment: dict[str, str]
) -> None:
    started, never = launch / "started", launch / "never"
    os.mkfifo(started)
    os.mkfifo(never)
    script = f"cat {never} & echo $! > {started}; wait; echo"
    words = ["run", "--file", "b.tsv", "--quiet", "--", "sh", "-c", script]
    with subprocess.Popen(
        [*GPU_BENCH, *words], cwd=launch, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        pid = int(started.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=TIMEOUT_S) == 130
    assert not runs(pid)


def test_an_interrupt_says_where_the_finished_repeats_are(
    launch: Path, environment: dict[str, str]
) -> None:
    started, never = launch / "started", launch / "never"
    os.mkfifo(started)
    os.mkfifo(never)
    script = f"test $n != 2 || {{ echo > {started}; exec cat {never}; }}"
    words = ["run", "--file", "b.tsv", "--repeats", "4", "--work-dir", "w", "--quiet", "--"]
    with subprocess.Popen(
        [*GPU_BENCH, *words, *counting(launch, script)],
        cwd=launch,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        started.read_text()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 130
    assert errors.splitlines() == [
        "gpu-bench: interrupted in repeat 2 of 4; b.tsv was not written, run it again; "
        "the finished repeats are in w/"
    ]
    assert len(list((launch / "w").glob("??/*"))) == 2


def test_an_interrupt_after_the_file_was_written_says_so(
    launch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(launch)
    monkeypatch.setattr("collector.cli.run.emit_outputs", interrupt)
    assert main(["run", "--file", "b.tsv", "--emit", "x", "--quiet", "--", "true"]) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "gpu-bench: interrupted; b.tsv is written, the outputs are below work/"
    assert len(rows_of(launch / "b.tsv")) == 1


def test_an_interrupt_of_the_terminal_reaches_only_us(launch: Path, bench: Bench) -> None:
    code = "import os; print(os.getsid(0))"
    assert bench("--file", "b.tsv", "--", sys.executable, "-c", code).returncode == 0
    session = int((work_directories(launch)[0] / ".command.out").read_text())
    assert session != os.getsid(0)


@pytest.mark.parametrize("module", ["argparse", "orjson"])
def test_an_interrupt_of_the_imports_is_no_traceback(
    launch: Path, environment: dict[str, str], module: str
) -> None:
    """The module that is found first never ends, until it is interrupted."""
    started, never = launch / "started", launch / "never"
    os.mkfifo(started)
    os.mkfifo(never)
    code = f"open({str(started)!r}, 'w').close(); open({str(never)!r})"
    (launch / f"{module}.py").write_text(code)
    path = f"{launch}{os.pathsep}{environment['PYTHONPATH']}"
    with subprocess.Popen(
        [*GPU_BENCH, "collect", "."],
        cwd=launch,
        env={**environment, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        started.read_text()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert said in ("", "gpu-bench: interrupted; nothing was written\n")
