import csv
import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from collector.benchmark import Benchmark, Command, Launch, Repeat, run_benchmark
from collector.errors import ExecutorFailed, SinkRejected
from collector.executors import StagedInput, Task, TaskResult, run_digest
from helpers.builders import task_directory, trace

COMMAND = Command(argv=("train",), process="TRAIN", tag="s1")


class FakeExecutor:
    """Ends each task at once with the next of the given statuses, leaving a directory and trace."""

    def __init__(
        self, *exit_statuses: int | BaseException, effect: Callable[[Task], object] = id
    ) -> None:
        self.exit_statuses = list(exit_statuses)
        self.effect = effect
        self.submitted: list[Task] = []
        self.cancelled: list[Task] = []

    def submit(self, task: Task) -> None:
        self.submitted.append(task)

    def wait(self, task: Task) -> TaskResult:
        status = self.exit_statuses.pop(0)
        self.effect(task)
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
    file: Path,
    executor: FakeExecutor,
    *,
    repeats: int = 3,
    heard: list[Repeat] | None = None,
    inputs: tuple[StagedInput, ...] = (),
) -> list[Repeat]:
    return run_benchmark(
        Benchmark(file=file, repeats=repeats),
        COMMAND,
        Launch(work_root=file.parent / "work", salt=b"salt", inputs=inputs),
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


def test_the_tasks_of_one_run_name_it(tmp_path: Path) -> None:
    executor = FakeExecutor(0, 0, 0)
    run(tmp_path / "b.tsv", executor)
    assert {task.run for task in executor.submitted} == {run_digest(b"salt")}


def test_a_work_root_that_is_a_file_is_found_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "work").touch()
    executor = FakeExecutor()
    with pytest.raises(ExecutorFailed, match=f"--work-dir {tmp_path / 'work'}"):
        run(tmp_path / "b.tsv", executor)
    assert executor.submitted == []


def staged(path: Path) -> StagedInput:
    return StagedInput(source=path, target=PurePosixPath(path.name))


def in_repeat(number: int, effect: Callable[[], object]) -> Callable[[Task], object]:
    return lambda task: effect() if task.repeat == number else None


def replace(path: Path) -> None:
    beside = path.with_name("beside")
    beside.write_text("other")
    beside.replace(path)


@pytest.mark.parametrize(
    "change", [lambda path: path.write_text("more than before"), replace, Path.unlink, Path.touch]
)
def test_an_input_that_a_repeat_changes_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Callable[[Path], object]
) -> None:
    changing, quiet = tmp_path / "changing.txt", tmp_path / "quiet.txt"
    changing.write_text("input")
    quiet.write_text("input")
    inputs = (staged(changing), staged(quiet))
    effect = in_repeat(2, lambda: change(changing))
    run(tmp_path / "b.tsv", FakeExecutor(0, 0, 0, effect=effect), inputs=inputs)
    (message,) = [entry.getMessage() for entry in caplog.records]
    assert message.startswith(f"{changing} changed while repeat 2 ran")
    for words in ("not independent", "--emit", "copy"):
        assert words in message


def test_an_input_that_every_repeat_changes_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "in.txt"
    path.write_text("")
    executor = FakeExecutor(0, 0, 0, effect=lambda _: path.write_text(path.read_text() + "x"))
    run(tmp_path / "b.tsv", executor, inputs=(staged(path),))
    assert len(caplog.records) == 1
    assert "repeat 1" in caplog.text


def test_an_input_that_an_interrupted_repeat_changed_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "in.txt"
    path.write_text("")
    executor = FakeExecutor(KeyboardInterrupt(), effect=lambda _: path.write_text("half"))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b.tsv", executor, inputs=(staged(path),))
    assert "in.txt changed while repeat 1 ran" in caplog.text


def test_directories_are_not_compared(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    effect = in_repeat(1, (directory / "new").touch)
    run(tmp_path / "b.tsv", FakeExecutor(0, 0, 0, effect=effect), inputs=(staged(directory),))
    assert caplog.records == []
