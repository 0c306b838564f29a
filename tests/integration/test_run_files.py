"""`gpu-bench run`: work directories, inputs and outputs."""

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from helpers.bench import Bench, counting, rows_of, work_directories


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
