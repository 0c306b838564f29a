import csv
import json
from pathlib import Path

import pytest

from collector.benchmark import Benchmark, Command, Launch, Repeat, run_benchmark
from collector.errors import ExecutorFailed, SinkRejected
from collector.executors import Task, TaskResult
from helpers.builders import task_directory, trace

COMMAND = Command(argv=("train",), process="TRAIN", tag="s1")


class FakeExecutor:
    """Ends each task at once with the next of the given statuses, leaving a directory and trace."""

    def __init__(self, *exit_statuses: int | BaseException) -> None:
        self.exit_statuses = list(exit_statuses)
        self.submitted: list[Task] = []
        self.cancelled: list[Task] = []

    def submit(self, task: Task) -> None:
        self.submitted.append(task)

    def wait(self, task: Task) -> TaskResult:
        status = self.exit_statuses.pop(0)
        if isinstance(status, BaseException):
            raise status
        task_directory(
            task.workdir,
            task={"task_id": task.task_id, "hash": task.hash},
            trace=trace(),
            exit_code=status,
        )
        return TaskResult(task=task, exit_status=status, native_id="1", start_ms=0, complete_ms=1)

    def cancel(self, task: Task) -> None:
        self.cancelled.append(task)


def run(
    file: Path, executor: FakeExecutor, *, repeats: int = 3, heard: list[Repeat] | None = None
) -> list[Repeat]:
    return run_benchmark(
        Benchmark(file=file, repeats=repeats),
        COMMAND,
        Launch(work_root=file.parent / "work", salt=b"salt"),
        executor=executor,
        on_repeat=(heard if heard is not None else []).append,
    )


def test_b_4_b_5_each_repeat_is_a_task_and_a_row(tmp_path: Path) -> None:
    executor = FakeExecutor(0, 3, 0)
    heard: list[Repeat] = []
    repeats = run(tmp_path / "b.tsv", executor, heard=heard)

    assert [repeat.succeeded for repeat in repeats] == [True, False, True]
    assert heard == repeats
    assert len({task.workdir for task in executor.submitted}) == 3
    assert [(task.task_id, task.repeat) for task in executor.submitted] == [
        ("1", 1),
        ("2", 2),
        ("3", 3),
    ]
    with (tmp_path / "b.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["repeat"] for row in rows] == ["1", "2", "3"]
    assert [row["exit"] for row in rows] == ["0", "3", "0"]
    assert [row["status"] for row in rows] == ["COMPLETED", "FAILED", "COMPLETED"]
    assert len({row["hash"] for row in rows}) == 3
    assert {row["gpu_pct"] for row in rows} == {"60"}


def test_b_5_the_file_may_be_json_lines(tmp_path: Path) -> None:
    run(tmp_path / "b.jsonl", FakeExecutor(0, 1), repeats=2)
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [row["repeat"] for row in rows] == [1, 2]
    assert rows[0]["gpu_metrics"] == trace()["gpu"]
    assert rows[1]["shared"] is None


def test_the_order_of_the_rows_is_that_of_the_repeats(tmp_path: Path) -> None:
    run(tmp_path / "b.jsonl", FakeExecutor(*[0] * 12), repeats=12)
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [row["task_id"] for row in rows] == [str(index) for index in range(1, 13)]


@pytest.mark.parametrize("reason", [KeyboardInterrupt(), ExecutorFailed("no space")])
def test_when_a_wait_fails_the_rest_is_cancelled_and_the_file_left(
    tmp_path: Path, reason: BaseException
) -> None:
    file = tmp_path / "b.tsv"
    file.write_text("old")
    executor = FakeExecutor(0, reason)
    with pytest.raises(type(reason)):
        run(file, executor)
    assert executor.cancelled == executor.submitted[1:]
    assert file.read_text() == "old"


def test_a_file_that_cannot_be_written_is_found_before_anything_runs(tmp_path: Path) -> None:
    executor = FakeExecutor()
    with pytest.raises(SinkRejected, match="does not exist"):
        run(tmp_path / "none" / "b.tsv", executor)
    assert executor.submitted == []
