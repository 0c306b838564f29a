"""The local executor: tasks run on this machine, one after another, in the order of submission."""

import logging
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from collector.errors import ExecutorFailed
from collector.executors.base import Task, TaskResult
from collector.executors.directory import (
    ERROR_FILE,
    OUTPUT_FILE,
    Progress,
    populate,
    write_task_file,
)
from collector.executors.ending import end_group, interrupts_held
from collector.executors.wrap import wrap_command
from collector.trace import EXIT_FILE, write_exit_status

__all__ = ["LocalExecutor"]

_LOG = logging.getLogger(__name__)
_SIGNAL_BASE = 128
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


class LocalExecutor:
    """Runs tasks one after another, so that repeats do not disturb each other.

    A task starts, and its work directory is created, when it, or one submitted after it, is waited
    for. Its standard input is empty; its output goes to `.command.out` and `.command.err`.
    """

    name = "local"

    def __init__(
        self,
        *,
        wrapper: Path | None,
        why_bare: str = "there is no gpu-probe",
        now_ms: Callable[[], int] = lambda: time.time_ns() // 10**6,
        hostname: str | None = None,
    ) -> None:
        """Create an executor.

        Args:
            wrapper: the gpu-probe executable; `None` runs the tasks bare, and logs `why_bare`.
            why_bare: the reason for having no wrapper, without a full stop.
            now_ms: the clock, in ms since 1970.
            hostname: the name of this machine, asked of the system by default.
        """
        self._wrapper = wrapper
        self._why_bare = why_bare
        self._now_ms = now_ms
        self._hostname = platform.node() if hostname is None else hostname
        self._queue: dict[Task, int] = {}  # submission time by task, in order
        self._results: dict[Task, TaskResult] = {}
        self._running: tuple[Task, subprocess.Popen[bytes]] | None = None
        self._bare_noted = False

    def submit(self, task: Task) -> None:
        """Queue the task, and remember when that was."""
        self._queue[task] = self._now_ms()

    def wait(self, task: Task) -> TaskResult:
        """Run the queue up to and including the task, and return the task's result."""
        while task not in self._results:
            if task not in self._queue:
                raise ExecutorFailed(f"task {task.task_id} ({task.hash}) is not queued; submit it")
            first = next(iter(self._queue))
            submit_ms = self._queue.pop(first)
            try:
                self._results[first] = self._run(first, submit_ms)
            except OSError as error:
                raise _directory_failed(first, error) from error
        return self._results[task]

    def cancel(self, task: Task) -> None:
        """Take a task off the queue, or end it if it runs."""
        self._queue.pop(task, None)
        if self._running is not None and self._running[0] == task:
            end_group(self._running[1])

    def _run(self, task: Task, submit_ms: int) -> TaskResult:
        populate(task)
        progress = Progress(
            submit_ms=submit_ms, start_ms=self._now_ms(), hostname=self._hostname or None
        )
        self._write_task_file(task, progress)
        with (
            (task.workdir / OUTPUT_FILE).open("wb") as output,
            (task.workdir / ERROR_FILE).open("wb") as errors,
        ):
            process = None
            try:
                with interrupts_held():  # until there is a process that they can end
                    process = self._start(task, output, errors)
                    progress = replace(progress, native_id=str(process.pid))
                    self._running = (task, process)
                process.wait()
            except BaseException as error:
                if process is not None:
                    end_group(process)
                    self._finish(task, progress, exit_status=_status_of(process))
                elif isinstance(error, OSError):
                    errors.write(f"{error.filename}: {error.strerror}\n".encode(errors="replace"))
                    return self._finish(task, progress, exit_status=_status_of_start(error))
                raise
            finally:
                self._running = None
        return self._finish(task, progress, exit_status=_status_of(process))

    def _finish(self, task: Task, progress: Progress, *, exit_status: int) -> TaskResult:
        result = TaskResult(
            task=task,
            exit_status=exit_status,
            native_id=progress.native_id,
            start_ms=progress.start_ms or 0,
            complete_ms=self._now_ms(),
        )
        self._write_task_file(task, replace(progress, complete_ms=result.complete_ms))
        write_exit_status(task.workdir / EXIT_FILE, exit_status)
        return result

    def _start(self, task: Task, output: BinaryIO, errors: BinaryIO) -> subprocess.Popen[bytes]:
        def start(wrapper: Path | None) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                wrap_command(task.argv, wrapper=wrapper, workdir=task.workdir),
                cwd=task.cwd or task.workdir,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # an interrupt reaches us alone, and we end the task
            )

        if self._wrapper is not None:
            try:
                return start(self._wrapper)
            except OSError as error:
                self._note_bare(f"{self._wrapper} cannot be executed ({error.strerror})")
                self._wrapper = None
        self._note_bare(self._why_bare)
        return start(None)

    def _note_bare(self, reason: str) -> None:
        if not self._bare_noted:
            _LOG.warning("%s; the tasks run bare and are not measured", reason)
        self._bare_noted = True

    def _write_task_file(self, task: Task, progress: Progress) -> None:
        fusion = self._wrapper is not None
        write_task_file(task, progress, executor=self.name, fusion=fusion)


def _directory_failed(task: Task, error: OSError) -> ExecutorFailed:
    where = error.filename or task.workdir
    return ExecutorFailed(f"task {task.task_id}: {where}: {error.strerror or error}")


def _status_of(process: subprocess.Popen[bytes]) -> int:
    """Return the exit status of a process that has ended; 128+n for signal n."""
    status = process.wait()
    return status if status >= 0 else _SIGNAL_BASE - status


def _status_of_start(error: OSError) -> int:
    """Return the exit status that a shell gives a command that cannot be started."""
    return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
