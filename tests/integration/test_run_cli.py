"""`gpu-bench run`, with real processes: rows, statuses and what is said."""

import json
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.bench import GPU_BENCH, Bench, counting, rows_of, work_directories


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


def test_a_task_reads_nothing_of_what_is_typed(launch: Path, bench: Bench) -> None:
    assert bench("--file", "b.tsv", "--", "cat", typed="secret").returncode == 0
    assert (work_directories(launch)[0] / ".command.out").read_text() == ""


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
