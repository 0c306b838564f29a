"""`gpu-bench run`: one command, N repeats, one file."""

import contextlib
import os
import secrets
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from collector.benchmark import (
    Benchmark,
    Command,
    Launch,
    Repeat,
    Staging,
    check_patterns,
    emit_outputs,
    plan_staging,
    run_benchmark,
)
from collector.cli.arguments import UsageError
from collector.cli.output import write_output
from collector.cli.table import render_table, wants_color
from collector.executors import LocalExecutor, find_wrapper, why_not_wrapped
from collector.files import printable

__all__ = ["execute_run"]

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_ERROR_TAIL_LINES = 5
_ERROR_TAIL_BYTES = 4096
_SIGNAL_BASE = 128


def execute_run(arguments: Namespace) -> int:
    """Run the benchmark and return the status that the repeats deserve."""
    here = Path.cwd()
    benchmark = Benchmark(file=arguments.file, repeats=arguments.repeats)
    staging = _plan(arguments, here)
    launch = Launch(
        work_root=arguments.work_dir,
        cwd=here if arguments.here else None,
        inputs=staging.inputs,
        salt=secrets.token_bytes(16),
    )
    talk = _Talk(arguments)
    talk.about_staging(staging)
    executor = LocalExecutor(wrapper=find_wrapper(os.environ), why_bare=why_not_wrapped(os.environ))
    try:
        with _ending_signals_interrupt():
            repeats = run_benchmark(
                benchmark,
                _command(arguments),
                launch,
                executor=executor,
                on_repeat=talk.about_repeat,
            )
    except KeyboardInterrupt as interrupt:
        raise _Interrupted(interrupt, talk.about_interrupt(arguments.work_dir)) from interrupt
    try:
        talk.about_result(repeats)
        _emit(arguments, repeats, here, talk)
    except KeyboardInterrupt as interrupt:
        message = (
            f"interrupted; {arguments.file} is written, the outputs are below {arguments.work_dir}/"
        )
        raise _Interrupted(interrupt, message) from interrupt
    return _status(repeats, ignore_failure=arguments.ignore_failure)


def _command(arguments: Namespace) -> Command:
    name = arguments.name or Path(arguments.command[0]).name
    return Command(
        argv=tuple(arguments.command),
        process=printable(name),
        tag=None if arguments.tag is None else printable(arguments.tag),
    )


def _plan(arguments: Namespace, here: Path) -> Staging:
    if arguments.here:
        if arguments.emit or arguments.input:
            raise UsageError(
                "--here runs in the current directory: --emit and --input do not apply"
            )
        return Staging()
    check_patterns(arguments.emit, launch_directory=here, force=arguments.force)
    return plan_staging(
        arguments.command, launch_directory=here, inputs=arguments.input, outputs=arguments.emit
    )


def _emit(arguments: Namespace, repeats: list[Repeat], here: Path, talk: "_Talk") -> None:
    first = next((repeat for repeat in repeats if repeat.succeeded), None)
    if first is None or not arguments.emit:
        return
    task = first.result.task
    emission = emit_outputs(
        arguments.emit,
        workdir=task.workdir,
        inputs=[item.target for item in task.inputs],
        launch_directory=here,
        force=arguments.force,
    )
    for pattern, reason in emission.missing.items():
        talk.warn(f"repeat {first.index}: --emit {pattern}: {reason}")
    if emission.copied:
        names = ", ".join(str(path) for path in emission.copied)
        talk.say(f"copied from repeat {first.index}: {names}")


def _status(repeats: list[Repeat], *, ignore_failure: bool) -> int:
    failed = [repeat.result.exit_status for repeat in repeats if not repeat.succeeded]
    if not failed or (ignore_failure and len(failed) < len(repeats)):
        return 0
    return failed[0]


class _Talk:
    """What is said while a benchmark runs: the table on standard output, the rest on the other."""

    def __init__(self, arguments: Namespace) -> None:
        self._quiet: bool = arguments.quiet
        self._repeats: int = arguments.repeats
        self._file: Path = arguments.file
        self._ended = 0

    def about_staging(self, staging: Staging) -> None:
        if staging.inputs:
            names = ", ".join(str(item.target) for item in staging.inputs)
            self.say(f"linked into each work directory: {names}")
        for note in staging.notes:
            self.warn(note)

    def about_repeat(self, repeat: Repeat) -> None:
        self._ended += 1
        if repeat.succeeded:
            wall = repeat.record.fmt("realtime")
            self.say(f"repeat {repeat.index} of {self._repeats}: completed, {wall}")
            return
        _to_stderr(
            f"repeat {repeat.index} of {self._repeats} failed: {_how_it_ended(repeat)},"
            f" in {repeat.result.task.workdir}"
        )
        for line in _last_errors(repeat.result.task.workdir / ".command.err"):
            print(f"    {line}", file=sys.stderr)

    def about_interrupt(self, work_root: Path) -> str:
        message = (
            f"interrupted in repeat {min(self._ended + 1, self._repeats)} of {self._repeats};"
            f" {self._file} was not written, run it again"
        )
        return f"{message}; the finished repeats are in {work_root}/" if self._ended else message

    def about_result(self, repeats: list[Repeat]) -> None:
        if not self._quiet:
            color = sys.stdout is not None and wants_color(sys.stdout, os.environ)
            try:
                write_output(render_table(repeats, color=color).encode())
            except OSError as error:  # the benchmark succeeded all the same
                self.warn(f"the table cannot be written: {error.strerror or error}")
        self.say(f"written to {self._file}")

    def say(self, message: str) -> None:
        if not self._quiet:
            _to_stderr(message)

    def warn(self, message: str) -> None:
        _to_stderr(f"warning: {message}")


def _how_it_ended(repeat: Repeat) -> str:
    status = repeat.result.exit_status
    try:
        name = signal.Signals(status - _SIGNAL_BASE).name
    except ValueError:
        return f"exit {status}"
    return f"exit {status} ({name})"


def _last_errors(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _ERROR_TAIL_BYTES))
            text = file.read(_ERROR_TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    # Control characters of the command's output must not reach the terminal.
    lines = ["".join(c if c.isprintable() else " " for c in line) for line in text.splitlines()]
    return lines[-_ERROR_TAIL_LINES:]


def _to_stderr(message: str) -> None:
    print(f"gpu-bench: {message}", file=sys.stderr)


class _Ended(KeyboardInterrupt):
    """An ending signal, treated as an interrupt."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_status = _SIGNAL_BASE + number


class _Interrupted(KeyboardInterrupt):
    """An interrupt, with what is to be said about it."""

    def __init__(self, interrupt: KeyboardInterrupt, message: str) -> None:
        super().__init__()
        self.message = message
        self.exit_status = getattr(interrupt, "exit_status", _SIGNAL_BASE + signal.SIGINT)


@contextlib.contextmanager
def _ending_signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the running task and then us, as an interrupt does.

    A signal that we were started to ignore (nohup) stays ignored.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise _Ended(number)

    heard = [n for n in _ENDING_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
