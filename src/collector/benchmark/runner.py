"""Running a benchmark: submit every repeat, wait for each, write one file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from collector.benchmark.columns import COLUMNS, benchmark_row
from collector.benchmark.directive import Benchmark
from collector.benchmark.watch import InputWatch
from collector.collect import CollectOptions, collect_task
from collector.executors import (
    Executor,
    Resources,
    StagedInput,
    Task,
    TaskResult,
    check_work_root,
    new_work_directory,
    run_digest,
    task_digest,
)
from collector.record import TraceRecord
from collector.sinks import check_target, encode_jsonl, encode_tsv, write_target

__all__ = ["Command", "Launch", "Repeat", "run_benchmark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is benchmarked."""

    argv: tuple[str, ...]
    process: str
    tag: str | None = None
    resources: Resources = field(default_factory=Resources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Where the repeats run.

    Attributes:
        work_root: the directory that holds the work directories.
        cwd: where the command runs; `None` means in each repeat's own work directory.
        salt: random bytes, new in each run, that keep the tasks of two runs apart.
    """

    work_root: Path
    cwd: Path | None = None
    inputs: tuple[StagedInput, ...] = ()
    salt: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One execution that has ended. `index` is from 1."""

    index: int
    result: TaskResult
    record: TraceRecord

    @property
    def succeeded(self) -> bool:
        """Whether the command exited with 0."""
        return self.result.exit_status == 0


def run_benchmark(
    benchmark: Benchmark,
    command: Command,
    launch: Launch,
    *,
    executor: Executor,
    on_repeat: Callable[[Repeat], None] = lambda repeat: None,
) -> list[Repeat]:
    """Run every repeat as a task of its own and write the benchmark file when all have ended.

    An exception, an interrupt included, ends the repeats that have not ended; the file is then left
    as it was. A staged file that a repeat changes is logged as a warning.

    Raises:
        SinkRejected: the file cannot be written; checked before anything runs, as far as possible.
        ExecutorFailed: a repeat could not be run; the work root is checked before anything runs.
    """
    check_target(benchmark.file)
    check_work_root(launch.work_root)
    watch = InputWatch(launch.inputs)
    tasks = [_task(command, launch, index) for index in range(1, benchmark.repeats + 1)]
    repeats = []
    try:
        for task in tasks:
            executor.submit(task)
        for index, task in enumerate(tasks, start=1):
            try:
                result = executor.wait(task)
            finally:
                watch.report(index)
            record = collect_task(task.workdir, CollectOptions(fusion="on"))
            repeats.append(Repeat(index=index, result=result, record=record))
            on_repeat(repeats[-1])
    except BaseException:
        for task in tasks[len(repeats) :]:
            executor.cancel(task)
        raise
    write_target(benchmark.file, _encode(benchmark, repeats))
    return repeats


def _task(command: Command, launch: Launch, repeat: int) -> Task:
    identity = {"process": command.process, "tag": command.tag, "repeat": repeat}
    digest = task_digest(command.argv, salt=launch.salt, identity=identity)
    workdir, abbreviated = new_work_directory(launch.work_root, digest)
    return Task(
        task_id=str(repeat),
        hash=abbreviated,
        process=command.process,
        tag=command.tag,
        argv=command.argv,
        workdir=workdir,
        cwd=launch.cwd,
        repeat=repeat,
        run=run_digest(launch.salt),
        inputs=launch.inputs,
        resources=command.resources,
    )


def _encode(benchmark: Benchmark, repeats: list[Repeat]) -> bytes:
    rows = [benchmark_row(repeat.record, repeat.index) for repeat in repeats]
    return encode_tsv(COLUMNS, rows) if benchmark.format == "tsv" else encode_jsonl(rows)
