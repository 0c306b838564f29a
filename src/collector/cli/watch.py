"""`gpu-bench collect --watch`: a line for each task as it completes.

A file that is there already is gone on with: the tasks that it names are not reported again, and a
last line that was cut off is removed.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import IO

import orjson

from collector.cli.output import write_output
from collector.collect import TaskKey, Watch, task_key
from collector.errors import SinkRejected
from collector.record import TraceRecord
from collector.sinks import encode_jsonl, record_row

__all__ = ["execute_watch"]

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def execute_watch(watch: Watch, path: Path | None, *, until_exit: int | None) -> int:
    """Follow tasks until the end that was asked for, or a signal; return 0."""
    stopped = threading.Event()
    ended = None if until_exit is None else _has_ended(until_exit)
    watch.until = lambda: stopped.is_set() or (ended is not None and ended())
    watch.pause = stopped.wait
    count = 0
    with _stop_on_signals(stopped), _target(path, watch.reported) as write:
        for record in watch.records():
            write(record)
            count += 1
    left = f"; {watch.unfinished} have not completed" if watch.unfinished else ""
    print(f"gpu-bench: {count} tasks reported{left}", file=sys.stderr)
    return 0


@contextlib.contextmanager
def _target(path: Path | None, reported: set[TaskKey]) -> Iterator[Callable[[TraceRecord], None]]:
    if path is None:
        yield lambda record: write_output(encode_jsonl([record_row(record)]))
        return
    try:
        with path.open("a+b") as file:
            _resume(file, reported)
            yield lambda record: _append(file, record)
    except OSError as error:
        raise SinkRejected(f"{path}: cannot be written: {error.strerror or error}") from error


def _append(file: IO[bytes], record: TraceRecord) -> None:
    file.write(encode_jsonl([record_row(record)]))
    file.flush()  # who follows the file sees whole lines, and soon


def _resume(file: IO[bytes], reported: set[TaskKey]) -> None:
    """Learn which tasks the file names; cut off what comes after the last whole line."""
    file.seek(0)
    whole = 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        whole += len(line)
        with contextlib.suppress(orjson.JSONDecodeError, AttributeError):
            row = orjson.loads(line)
            reported.add(task_key(row.get("workdir"), row.get("native_id")))
    file.truncate(whole)
    file.seek(0, os.SEEK_END)


def _has_ended(pid: int) -> Callable[[], bool]:
    """Return a question: has the process ended? A zombie has."""

    def ask() -> bool:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return True
        return stat[stat.rfind(b")") + 2 :][:1] in (b"Z", b"X")

    return ask


@contextlib.contextmanager
def _stop_on_signals(stopped: threading.Event) -> Iterator[None]:
    """Let a signal end the watch after one more look; the same signal again ends us at once."""

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.set()
        signal.signal(number, signal.SIG_DFL)

    heard = [n for n in _STOPPING if signal.getsignal(n) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
