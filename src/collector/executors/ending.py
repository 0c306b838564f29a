"""Ending a process with all that it started, and holding interrupts back while it is started."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

__all__ = ["end_group", "interrupts_held"]

_Handler: TypeAlias = Callable[[int, FrameType | None], Any]

_GRACE_S = 10.0
_POLL_S = 0.02
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_group(process: "subprocess.Popen[bytes]", *, grace_s: float = _GRACE_S) -> None:
    """End a process that leads a group, and whatever of the group outlives it.

    Politely: first the process, which passes the signal on to its command, then the rest. What is
    left after `grace_s`, or at a second interrupt, is killed.
    """
    deadline = time.monotonic() + grace_s
    process.terminate()
    try:
        process.wait(timeout=grace_s)
        if _lives(process.pid):
            _signal_group(process.pid, signal.SIGTERM)
        while _lives(process.pid) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        pass
    if process.returncode is None or _lives(process.pid):
        _signal_group(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Deliver the interrupts that come meanwhile at the end.

    The signals are not blocked, as a process that is started would inherit that. Only the main
    thread is ever interrupted; in others nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[Callable[[], Any]] = []
    with contextlib.ExitStack() as stack:
        stack.callback(_deliver, held)
        for number in _INTERRUPTS:
            handler = signal.getsignal(number)
            if callable(handler):
                stack.callback(signal.signal, number, handler)
                signal.signal(number, _holder(held, handler))
        yield


def _holder(held: list[Callable[[], Any]], handler: _Handler) -> _Handler:
    return lambda number, frame: held.append(lambda: handler(number, frame))


def _deliver(held: list[Callable[[], Any]]) -> None:
    for handle in held:
        handle()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _lives(group: int) -> bool:
    """Say whether a group has a member other than zombies, which nobody may ever reap."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        members = [each for each in _states(Path("/proc")) if each[1] == group]
    except OSError:
        return True  # no /proc
    return any(state not in ("Z", "X") for state, _ in members)


def _states(proc_root: Path) -> Iterator[tuple[str, int]]:
    """Yield the state and the group of every process."""
    for name in os.listdir(proc_root):  # noqa: PTH208 - names are all that is needed
        if name.isdecimal():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                stat = (proc_root / name / "stat").read_text(errors="replace")
                state, _, group = stat.rpartition(")")[2].split()[:3]
                yield state, int(group)
