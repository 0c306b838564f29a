"""`gpu-bench run`, with real processes."""

import csv
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from collector.cli import main

GPU_BENCH = (sys.executable, "-c", "import sys; from collector.cli import main; sys.exit(main())")
TIMEOUT_S = 60

Bench: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


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


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    """The directory that benchmarks are launched in."""
    directory = tmp_path / "launch"
    directory.mkdir()
    return directory


@pytest.fixture
def environment(gpu_probe: Path) -> dict[str, str]:
    path = os.pathsep.join(sys.path)
    return {**os.environ, "GPU_PROBE": str(gpu_probe), "PYTHONPATH": path}


@pytest.fixture
def bench(launch: Path, environment: dict[str, str]) -> Bench:
    """Run `gpu-bench run` in the launch directory."""

    def run(*words: str, typed: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*GPU_BENCH, "run", *words],
            cwd=launch,
            env={**environment, **variables},
            input=typed,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    return run


def counting(launch: Path, script: str) -> list[str]:
    """Return a shell command in which `$n` is the number of its execution, from 1."""
    log = launch.parent / "executions"
    return ["sh", "-c", f"echo >> {log}; n=$(wc -l < {log}); {script}"]


def rows_of(file: Path) -> list[dict[str, Any]]:
    with file.open() as lines:
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in lines]
        return list(csv.DictReader(lines, delimiter="\t"))


def work_directories(launch: Path) -> list[Path]:
    return sorted((launch / "work").glob("??/*"))


def runs(pid: int) -> bool:
    """Say whether a process runs; a zombie whose parent is slow does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_b_4_b_7_the_second_of_three_repeats_fails(launch: Path, bench: Bench) -> None:
    command = counting(launch, "echo $n > out.txt; echo oh no >&2; test $n != 2 || exit 3")
    done = bench("--file", "b.tsv", "--repeats", "3", "--emit", "out.txt", "--", *command)

    assert done.returncode == 3
    rows = rows_of(launch / "b.tsv")
    assert [(row["repeat"], row["status"], row["exit"]) for row in rows] == [
        ("1", "COMPLETED", "0"),
        ("2", "FAILED", "3"),
        ("3", "COMPLETED", "0"),
    ]
    for column, count in (("workdir", 3), ("hash", 3), ("task_id", 3), ("native_id", 3)):
        assert len({row[column] for row in rows}) == count
    assert all(int(row["realtime"]) > 0 and float(row["%cpu"]) >= 0 for row in rows)
    traces = [json.loads((d / ".fusion/trace.json").read_bytes()) for d in work_directories(launch)]
    assert len({trace["probe"]["run_id"] for trace in traces}) == 3
    assert all((d / ".fusion/timeline.json").exists() for d in work_directories(launch))
    assert (launch / "out.txt").read_text() == "1\n"
    assert sorted(Path(row["workdir"]) for row in rows) == work_directories(launch)


def test_a_failed_repeat_is_said_once_with_its_place_and_last_words(
    launch: Path, bench: Bench
) -> None:
    command = counting(launch, "echo oh no >&2; test $n != 2 || exit 3")
    done = bench("--file", "b.tsv", "--repeats", "3", "--quiet", "--", *command)
    failed = rows_of(launch / "b.tsv")[1]["workdir"]
    assert done.stderr.splitlines() == [
        f"gpu-bench: repeat 2 of 3 failed: exit 3, in {failed}",
        "    oh no",
    ]
    assert done.stdout == ""


def test_b_7_all_repeats_fail(launch: Path, bench: Bench) -> None:
    command = counting(launch, "echo $n > out.txt; exit $((n + 3))")
    done = bench("--file", "b.jsonl", "--repeats", "3", "--emit", "out.txt", "--", *command)
    assert done.returncode == 4
    assert [row["exit"] for row in rows_of(launch / "b.jsonl")] == [4, 5, 6]
    assert not (launch / "out.txt").exists()
    assert len(work_directories(launch)) == 3


@pytest.mark.parametrize(("script", "status"), [("test $n != 1", 0), ("exit 3", 3)])
def test_failures_may_be_ignored_if_a_repeat_succeeds(
    launch: Path, bench: Bench, script: str, status: int
) -> None:
    command = counting(launch, script)
    done = bench("--file", "b.tsv", "--repeats", "2", "--ignore-failure", "--", *command)
    assert done.returncode == status


def test_the_outputs_are_those_of_the_first_successful_repeat(launch: Path, bench: Bench) -> None:
    command = counting(launch, "mkdir o; echo $n > o/out.txt; test $n != 1")
    done = bench("--file", "b.tsv", "--repeats", "3", "--emit", "o/*", "--", *command)
    assert done.returncode == 1
    assert (launch / "o" / "out.txt").read_text() == "2\n"


def test_a_repeat_that_dies_by_a_signal(launch: Path, bench: Bench) -> None:
    done = bench("--file", "b.tsv", "--", "sh", "-c", "kill -KILL $$")
    assert done.returncode == 137
    assert "exit 137 (SIGKILL)" in done.stderr
    assert rows_of(launch / "b.tsv")[0]["exit"] == "137"
    assert (work_directories(launch)[0] / ".exitcode").read_text() == "137\n"


def test_a_command_that_does_not_exist(launch: Path, bench: Bench) -> None:
    done = bench("--file", "b.tsv", "--", "no-such-command")
    assert done.returncode == 127
    assert rows_of(launch / "b.tsv")[0]["status"] == "FAILED"


def test_the_table_and_the_notices(launch: Path, bench: Bench) -> None:
    (launch / "in.txt").write_text("hello\n")
    done = bench("--file", "b.tsv", "--repeats", "2", "--", "cat", "in.txt")
    assert done.returncode == 0
    header, *rows = done.stdout.splitlines()
    assert header.startswith("repeat  status")
    assert [row.split()[:3] for row in rows] == [["1", "COMPLETED", "0"], ["2", "COMPLETED", "0"]]
    assert "\033" not in done.stdout
    assert done.stderr.count("in.txt") == 1
    assert done.stderr.endswith("written to b.tsv\n")


@pytest.mark.parametrize("output", [">&-", "> /dev/full", "| true"])
def test_a_table_that_cannot_be_written_costs_nothing_else(
    launch: Path, environment: dict[str, str], output: str
) -> None:
    words = ["run", "--file", "b.tsv", "--emit", "out.txt", "--", "sh", "-c", "touch out.txt"]
    script = f"{{ sleep 0.2; {shlex.join([*GPU_BENCH, *words])}; echo $? >&2; }} {output}"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=launch,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    *notices, status = done.stderr.splitlines()
    assert status == "0"
    (warning,) = [line for line in notices if "warning" in line]
    assert warning.startswith("gpu-bench: warning: the table cannot be written: ")
    assert (launch / "out.txt").exists()
    assert len(rows_of(launch / "b.tsv")) == 1


@pytest.mark.parametrize("output", [">&-", "> /dev/full"])
def test_records_that_cannot_be_written_are_one_error(
    launch: Path, environment: dict[str, str], output: str
) -> None:
    script = f"{shlex.join([*GPU_BENCH, 'collect', str(launch)])} {output}"
    (launch / ".exitcode").write_text("0")
    done = subprocess.run(
        ["sh", "-c", script], env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 125
    (error,) = done.stderr.splitlines()
    assert error.startswith("gpu-bench: error: standard output cannot be written: ")


def test_arguments_that_exist_are_linked_and_the_command_can_be_rerun(
    launch: Path, bench: Bench
) -> None:
    (launch / "d").mkdir()
    (launch / "d" / "in.txt").write_text("hello\n")
    assert (
        bench("--file", "b.tsv", "--name", "P", "--tag", "t", "--", "cat", "d/in.txt").returncode
        == 0
    )
    (workdir,) = work_directories(launch)
    assert (workdir / "d" / "in.txt").is_symlink()
    assert (workdir / ".command.out").read_text() == "hello\n"
    again = subprocess.run(
        ["sh", ".command.sh"], cwd=workdir, capture_output=True, text=True, check=True
    )
    assert again.stdout == "hello\n"
    task = json.loads((workdir / ".task.json").read_bytes())
    assert (task["name"], task["script"], task["fusion"]) == ("P (t)", "cat d/in.txt", True)
    assert task["submit"] <= task["start"] <= task["complete"]


def test_a_task_reads_nothing_of_what_is_typed(launch: Path, bench: Bench) -> None:
    assert bench("--file", "b.tsv", "--", "cat", typed="secret").returncode == 0
    assert (work_directories(launch)[0] / ".command.out").read_text() == ""


def test_an_interrupt_of_the_terminal_reaches_only_us(launch: Path, bench: Bench) -> None:
    code = "import os; print(os.getsid(0))"
    assert bench("--file", "b.tsv", "--", sys.executable, "-c", code).returncode == 0
    session = int((work_directories(launch)[0] / ".command.out").read_text())
    assert session != os.getsid(0)


def test_here_runs_in_the_launch_directory(launch: Path, bench: Bench) -> None:
    (launch / "in.txt").write_text("hello\n")
    script = "cat in.txt > out.txt; pwd"
    done = bench("--file", "b.tsv", "--here", "--", "sh", "-c", script)
    assert done.returncode == 0
    assert (launch / "out.txt").read_text() == "hello\n"
    assert not (launch / ".fusion").exists()
    assert not (launch / ".task.json").exists()
    (workdir,) = work_directories(launch)
    assert (workdir / ".fusion" / "trace.json").exists()
    assert (workdir / ".command.out").read_text() == f"{launch}\n"
    assert rows_of(launch / "b.tsv")[0]["workdir"] == str(workdir)
    again = subprocess.run(
        ["sh", workdir / ".command.sh"], capture_output=True, text=True, check=True
    )
    assert again.stdout == f"{launch}\n"


def test_two_runs_never_share_a_directory(launch: Path, bench: Bench) -> None:
    for _ in range(2):
        assert bench("--file", "b.tsv", "--repeats", "2", "--", "true").returncode == 0
    assert len(work_directories(launch)) == 4
    assert len(rows_of(launch / "b.tsv")) == 2


def test_outputs_are_not_written_over_an_existing_file(launch: Path, bench: Bench) -> None:
    (launch / "out.txt").write_text("mine\n")
    command = ("sh", "-c", "echo new > out.txt")
    done = bench("--file", "b.tsv", "--emit", "*.txt", "--", *command)
    assert done.returncode == 125
    (workdir,) = work_directories(launch)
    (error,) = [line for line in done.stderr.splitlines() if "error" in line]
    for words in ("out.txt exists already", f"safe in {workdir}", "copy them", "--force"):
        assert words in error
    assert (launch / "out.txt").read_text() == "mine\n"
    assert len(rows_of(launch / "b.tsv")) == 1

    assert bench("--file", "b.tsv", "--emit", "*.txt", "--force", "--", *command).returncode == 0
    assert (launch / "out.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--file", "b.csv"], "ends in .tsv or .jsonl"),
        (["--file", "fifo.tsv"], "error: fifo.tsv is not a regular file"),
        (["--file", "none/b.tsv"], "does not exist"),
        (["--file", "b.tsv", "--repeats", "0"], "error: --repeats 0: at least 1\n"),
        (["--file", "b.tsv", "--input", "none"], "no such file"),
        (["--file", "b.tsv", "--emit", "../x"], "without .."),
        (["--file", "b.tsv", "--emit", "**x"], "error: --emit **x: "),
        (["--file", "b.tsv", "--emit", "taken"], "exists already"),
        (["--file", "b.tsv", "--here", "--emit", "x"], "do not apply"),
        (["--file", "b.tsv", "--work-dir", "taken"], "--work-dir taken: "),
        (["--file", "b.tsv", "--work-dir", "taken/w"], "--work-dir taken/w: "),
    ],
)
def test_what_cannot_work_is_an_error_before_anything_runs(
    launch: Path, bench: Bench, words: list[str], reason: str
) -> None:
    (launch / "taken").touch()
    os.mkfifo(launch / "fifo.tsv")
    done = bench(*words, "--", "sh", "-c", f"touch {launch}/ran")
    assert done.returncode == 125
    assert reason in done.stderr
    assert not (launch / "ran").exists()
    assert not (launch / "b.tsv").exists()


def test_a_file_below_a_directory_of_outputs_is_found_late_and_costs_no_rerun(
    launch: Path, bench: Bench
) -> None:
    (launch / "o").mkdir()
    (launch / "o" / "out.txt").write_text("mine\n")
    command = counting(launch, "mkdir o; echo $n > o/out.txt; test $n != 1")
    done = bench("--file", "b.tsv", "--repeats", "3", "--emit", "o", "--", *command)
    assert done.returncode == 125
    second = rows_of(launch / "b.tsv")[1]["workdir"]
    assert f"the outputs are safe in {second}" in done.stderr
    assert (launch / "o" / "out.txt").read_text() == "mine\n"


def test_an_output_that_is_not_there_is_a_warning_with_its_reason(
    launch: Path, bench: Bench
) -> None:
    script = "ln -s /etc/passwd leak; mkfifo fifo"
    globs = ("--emit", "none", "--emit", "leak", "--emit", "fifo")
    done = bench("--file", "b.tsv", *globs, "--quiet", "--", "sh", "-c", script)
    assert done.returncode == 0
    where = "gpu-bench: warning: repeat 1: --emit"
    assert done.stderr.splitlines() == [
        f"{where} none: the command made no such file",
        f"{where} leak: leak is a link that leads outside the work directory, to /etc/passwd",
        f"{where} fifo: fifo is not a regular file",
    ]


def test_a_command_that_writes_through_a_link_is_said(launch: Path, bench: Bench) -> None:
    (launch / "in.bin").write_text("new\n")
    (launch / "result.txt").write_text("mine\n")
    command = ("cp", "in.bin", "result.txt")
    done = bench("--file", "b.tsv", "--repeats", "3", "--quiet", "--", *command)
    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    assert warning.startswith(f"gpu-bench: warning: {launch}/result.txt changed while repeat 1 ran")


def test_a_directory_is_made_when_its_repeat_starts(launch: Path, bench: Bench) -> None:
    command = ("sh", "-c", "ls -d ../../??/* | wc -l; cat .task.json")
    assert bench("--file", "b.tsv", "--repeats", "2", "--", *command).returncode == 0
    tasks = {}
    for row in rows_of(launch / "b.tsv"):
        count, _, text = Path(row["workdir"], ".command.out").read_text().partition("\n")
        assert count.strip() == row["repeat"]
        tasks[row["repeat"]] = while_it_ran = json.loads(text)
        afterwards = json.loads(Path(row["workdir"], ".task.json").read_bytes())
        assert "complete" not in while_it_ran
        assert while_it_ran.items() <= afterwards.items()
        assert while_it_ran["hostname"] == platform.node()
    assert tasks["2"]["submit"] <= tasks["1"]["start"] <= tasks["2"]["start"]


def test_several_runs_in_one_work_directory_can_be_told_apart(launch: Path, bench: Bench) -> None:
    for _ in range(2):
        assert bench("--file", "b.tsv", "--repeats", "2", "--", "true").returncode == 0
    tasks = [json.loads((d / ".task.json").read_bytes()) for d in work_directories(launch)]
    runs = [task["run"] for task in tasks]
    assert sorted(runs.count(run) for run in set(runs)) == [2, 2]


@pytest.mark.parametrize("broken", [False, True])
def test_without_gpu_probe_the_tasks_run_bare_and_that_is_said_once(
    launch: Path, bench: Bench, tmp_path: Path, broken: bool
) -> None:
    wrapper = tmp_path / "no-wrapper"
    if broken:
        wrapper.write_bytes(b"\x7fELF is not what this is")
        wrapper.chmod(0o755)
    command = ("sh", "-c", "exit 3")
    done = bench("--file", "b.tsv", "--repeats", "2", "--", *command, GPU_PROBE=str(wrapper))
    assert done.returncode == 3
    assert done.stderr.count("the tasks run bare and are not measured") == 1
    named = str(wrapper) if broken else f"GPU_PROBE={wrapper} is not an executable file"
    assert named in done.stderr
    rows = rows_of(launch / "b.tsv")
    assert [(row["status"], row["exit"], row["peak_rss"]) for row in rows] == [
        ("FAILED", "3", "-")
    ] * 2
    assert all(int(row["realtime"]) >= 0 for row in rows)
    assert {row["hostname"] for row in rows} == {platform.node()}
    assert json.loads((work_directories(launch)[0] / ".task.json").read_bytes())["fusion"] is False


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


def test_a_finished_benchmark_can_be_collected(
    launch: Path, environment: dict[str, str], bench: Bench
) -> None:
    assert bench("--file", "b.jsonl", "--repeats", "3", "--tag", "t", "--", "true").returncode == 0
    done = subprocess.run(
        [*GPU_BENCH, "collect", "work"],
        cwd=launch,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    shared = ("task_id", "hash", "process", "tag", "realtime", "status", "exit", "workdir")
    expected = [{name: row[name] for name in shared} for row in rows_of(launch / "b.jsonl")]
    assert [{name: record[name] for name in shared} for record in records] == expected
    assert [record["name"] for record in records] == ["true (t)"] * 3
    assert done.stderr == ""


def test_help_imports_nothing_that_is_slow(environment: dict[str, str]) -> None:
    code = (
        "import sys; from collector.cli import main\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'orjson', 'subprocess', 'collector.benchmark'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
