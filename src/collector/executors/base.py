"""What every executor understands: a task, its result, and three verbs."""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

__all__ = ["Executor", "Resources", "StagedInput", "Task", "TaskResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a task asks for; `None` where it does not ask."""

    cpus: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    time_ms: int | None = None
    accelerator: int | None = None
    accelerator_type: str | None = None
    queue: str | None = None
    container: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedInput:
    """A file or directory that is linked into the work directory before the command starts."""

    source: Path  # absolute
    target: PurePosixPath  # relative to the work directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One execution of a command.

    Attributes:
        hash: `xx/yyyyyy`, the abbreviated work directory.
        workdir: absolute; holds the task's metadata, and is where the command runs unless `cwd`
            names another directory.
        attempt: from 1.
        repeat: from 1; `None` for a task that is not a repeat.
        run: what the tasks that were launched together have in common, and no others.
    """

    task_id: str
    hash: str
    process: str
    tag: str | None = None
    argv: tuple[str, ...]
    workdir: Path
    cwd: Path | None = None
    attempt: int = 1
    repeat: int | None = None
    run: str | None = None
    inputs: tuple[StagedInput, ...] = ()
    resources: Resources = field(default_factory=Resources)

    @property
    def name(self) -> str:
        """`PROCESS (tag)`, as Nextflow names tasks."""
        return self.process if self.tag is None else f"{self.process} ({self.tag})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """How a task ended. Times are ms since 1970.

    `exit_status` is 128+n when signal n ended the task; `native_id` is the id in the executor's
    system, `None` for a command that could not be started.
    """

    task: Task
    exit_status: int
    native_id: str | None
    start_ms: int
    complete_ms: int


class Executor(Protocol):
    """Runs tasks."""

    def submit(self, task: Task) -> None:
        """Queue the task. Its work directory is created when it starts.

        Raises:
            ExecutorFailed: the executor refuses the task.
        """
        ...

    def wait(self, task: Task) -> TaskResult:
        """Return when the submitted task has ended, whatever its exit status.

        An exception that interrupts the wait (`KeyboardInterrupt`) first ends the task.

        Raises:
            ExecutorFailed: the work directory cannot be created, or the task's end cannot be
                observed or recorded.
        """
        ...

    def cancel(self, task: Task) -> None:
        """End a task that was submitted and has not ended; do nothing otherwise."""
        ...
