"""Watching a tree: each task once, as it completes, also across a restart."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.cli import main
from collector.collect import CollectOptions, Host, Watch
from collector.trace import NextflowTrace
from helpers.builders import probe_block, task_directory, trace

ON = CollectOptions(fusion="on")


class Steps:
    """Lets things happen between the looks of a watch; after the last of them it ends."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = iter(steps)
        self.ended = False

    def pause(self, _seconds: float) -> None:
        step = next(self._steps, None)
        if step is None:
            self.ended = True
        else:
            step()

    def watch(self, root: Path, options: CollectOptions = ON) -> Watch:
        return Watch(
            roots=[root],
            options=lambda: options,
            until=lambda: self.ended,
            pause=self.pause,
        )


def names(watch: Watch) -> Iterator[str]:
    for record in watch.records():
        yield Path(str(record["workdir"])).name


def test_each_task_is_reported_once_as_it_completes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (task_directory(tmp_path / name, trace=trace()) / ".command.sh").touch()
    events: list[str] = []
    steps = Steps(
        lambda: (tmp_path / "b" / ".exitcode").write_text("0"),
        lambda: events.append("between"),
        lambda: task_directory(tmp_path / "c", exit_code=1),
        lambda: (tmp_path / "a" / ".exitcode").write_text("0"),
    )
    for name in names(steps.watch(tmp_path)):
        events.append(name)
    assert events == ["b", "between", "c", "a"]


def test_a_final_trace_is_not_yet_completion_where_a_launcher_writes_exitcode(
    tmp_path: Path,
) -> None:
    launched = task_directory(tmp_path / "launched", trace=trace(probe=probe_block(exit=0)))
    (launched / ".command.run").touch()
    (launched / ".command.sh").touch()
    task_directory(tmp_path / "plain", trace=trace(probe=probe_block(exit=0)))
    watch = Steps().watch(tmp_path)
    assert list(names(watch)) == ["plain"]
    assert watch.unfinished == 1


def test_a_second_job_in_a_plain_directory_is_reported_too(tmp_path: Path) -> None:
    directory = task_directory(tmp_path / "d", trace=trace(probe=probe_block(job="1", exit=0)))
    later = trace(probe=probe_block(job="2", exit=0, start_ms=1_800_000_000_000))
    file = directory / ".fusion" / "trace.2.json"
    steps = Steps(lambda: file.write_text(json.dumps(later)))
    jobs = [record["native_id"] for record in steps.watch(tmp_path).records()]
    assert jobs == ["1", "2"]


def test_an_aborted_task_is_reported_at_the_second_look(tmp_path: Path) -> None:
    host = Host(hostname="node1", boot_id="boot-1", pid_namespace=1, proc_root=tmp_path / "proc")
    task_directory(tmp_path / "w" / "t", trace=trace(probe=probe_block(state="running")))
    options = CollectOptions(fusion="on", host=host)
    looks = []
    steps = Steps(lambda: looks.append(1), lambda: looks.append(2))
    for record in steps.watch(tmp_path / "w", options).records():
        assert record["status"] == "ABORTED"
        looks.append(0)
    assert looks == [1, 0, 2]


def test_with_a_trace_txt_a_task_waits_for_its_row(tmp_path: Path) -> None:
    hashed = "ab/cdef0123456789abcdef0123456789"
    task_directory(tmp_path / hashed, exit_code=0)
    task_directory(tmp_path / "cd" / hashed[3:], exit_code=0)
    rows: dict[str, str] = {}
    steps = Steps(lambda: rows.update({"ab/cdef01": "ab/cdef01\t9\tCACHED"}))
    watch = steps.watch(tmp_path)
    watch.options = lambda: CollectOptions(
        nextflow_trace=NextflowTrace(["hash", "task_id", "status"], dict(rows))
    )
    found = [(record["task_id"], record["status"]) for record in watch.records()]
    assert found == [("9", "CACHED"), (None, "COMPLETED")]  # the other one at the last look


def test_until_idle_ends_when_nothing_has_happened_for_so_long(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    time_s = [0.0]

    def pause(seconds: float) -> None:
        time_s[0] += seconds
        if time_s[0] == 3.0:
            task_directory(tmp_path / "w" / "t", exit_code=0)

    watch = Watch(
        roots=[tmp_path / "w"],
        options=lambda: ON,
        idle_s=5,
        pause=pause,
        clock=lambda: time_s[0],
    )
    assert list(names(watch)) == ["t"]
    assert time_s[0] == 8.0


def test_a_finished_task_is_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = task_directory(tmp_path / "done", exit_code=0)
    listed: list[str] = []
    scandir = os.scandir

    def record(path: str) -> object:
        listed.append(str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", record)
    steps = Steps(listed.clear, lambda: None)
    assert list(names(steps.watch(tmp_path))) == ["done"]
    assert str(tmp_path) in listed
    assert str(done) not in listed


def test_a_directory_that_hangs_is_left_alone_for_longer_and_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = task_directory(tmp_path / "hung", exit_code=0)
    released = threading.Event()
    tries: list[int] = []
    scandir = os.scandir

    def hang(path: str) -> object:
        if path == str(hung):
            tries.append(1)
            released.wait()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", hang)
    options = CollectOptions(patience_s=0.05)
    steps = Steps(*[lambda: None] * 12, released.set, *[lambda: None] * 20)
    assert list(names(steps.watch(tmp_path, options))) == ["hung"]
    assert len(tries) == 4 + 1  # at the 1st, 3rd, 6th and 11th look, and when it answered again


def rows_of(path: Path) -> list[str]:
    return [Path(json.loads(line)["workdir"]).name for line in path.read_text().splitlines()]


def test_a_restart_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    words = ["collect", str(tmp_path / "w"), "--watch", "--until-idle", "0", "--to", str(out)]
    for index in range(3):
        task_directory(tmp_path / "w" / f"t{index}", exit_code=0)
    assert main(words) == 0
    assert rows_of(out) == ["t0", "t1", "t2"]
    whole = out.read_bytes()
    out.write_bytes(whole[:-10])  # killed while it wrote the last line
    task_directory(tmp_path / "w" / "t3", exit_code=0)
    assert main(words) == 0
    assert rows_of(out) == ["t0", "t1", "t2", "t3"]
    assert main(words) == 0
    assert out.read_bytes().count(b"\n") == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_watch_after_a_last_look(tmp_path: Path, number: signal.Signals) -> None:
    task_directory(tmp_path / "w" / "first", exit_code=0)
    program = "from collector.cli import main; raise SystemExit(main())"
    words = [sys.executable, "-c", program, "collect", str(tmp_path / "w"), "--watch"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        task_directory(tmp_path / "w" / "last", exit_code=0)
        process.send_signal(number)
        rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    found = [first, *(json.loads(line) for line in rest.splitlines())]
    assert [Path(row["workdir"]).name for row in found] == ["first", "last"]
    assert b"2 tasks reported" in errors


def test_the_end_of_a_process_ends_a_watch(tmp_path: Path) -> None:
    task_directory(tmp_path / "w" / "t", exit_code=0)
    out = tmp_path / "o.jsonl"
    words = ["collect", str(tmp_path / "w"), "--watch", "--to", str(out)]
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie from now on
        assert main([*words, "--until-exit", str(process.pid)]) == 0
    assert rows_of(out) == ["t"]


def test_a_watch_writes_json_lines_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["collect", str(tmp_path), "--watch", "--to", str(tmp_path / "o.tsv")]
    assert main(words) == 125
    assert ".jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--until-idle", "5"], "--watch"),
        (["--until-exit", "5"], "--watch"),
        (["--watch", "--platform"], "one at a time"),
        (["--directory-timeout", "0"], "--directory-timeout"),
        (["--directory-timeout", "nan"], "--directory-timeout"),
    ],
)
def test_options_that_make_no_sense_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], hint: str
) -> None:
    assert main(["collect", str(tmp_path), *words]) == 125
    assert hint in capsys.readouterr().err
