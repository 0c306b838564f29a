"""A command that was stopped, and what wakes the wrapper that stopped with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper, ends

STOPS = 50
PLACES: dict[str, Callable[[], object]] = {
    "its parent's group": lambda: None,
    "a group of its own": os.setpgrp,
    "a session of its own": os.setsid,
}


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def start(wrapper: Wrapper, place: str, script: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command that stops, and wait for that; return the wrapper and the command's pid."""
    process = subprocess.Popen(
        wrapper.command("sh", "-c", script),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        preexec_fn=PLACES[place],  # noqa: PLW1509 - as a shell or a daemon does
    )
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert os.WSTOPSIG(status) == signal.SIGSTOP
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    task = min(map(int, children))
    assert (state_of(task), state_of(process.pid)) == ("T", "T")
    return process, task


@pytest.mark.parametrize("place", PLACES)
def test_a_continue_of_the_command_alone_continues_the_wrapper(
    wrapper: Wrapper, place: str
) -> None:
    process, task = start(wrapper, place, "kill -STOP $$; exit 3")
    os.kill(task, signal.SIGCONT)
    assert process.wait(timeout=30) == 3
    assert wrapper.trace()["probe"]["exit"] == 3


@pytest.mark.parametrize("place", PLACES)
def test_a_stopped_command_that_is_killed_ends_the_wrapper(wrapper: Wrapper, place: str) -> None:
    process, task = start(wrapper, place, "kill -STOP $$; exit 3")
    os.kill(task, signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL


def test_it_works_again_and_again(wrapper: Wrapper, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    script = f"kill -STOP $$; read line < {tmp_path}/go; kill -STOP $$; exit 3"
    process, task = start(wrapper, "its parent's group", script)
    os.kill(task, signal.SIGCONT)
    _, status = os.waitpid(process.pid, os.WCONTINUED)
    assert os.WIFCONTINUED(status)
    (tmp_path / "go").write_text("\n")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(task, signal.SIGCONT)
    assert process.wait(timeout=30) == 3


def test_a_wrapper_that_is_killed_while_stopped_leaves_nobody(wrapper: Wrapper) -> None:
    process, _ = start(wrapper, "its parent's group", "kill -STOP $$; exit 3")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    watched = [os.pidfd_open(int(pid)) for pid in children]
    assert len(watched) == 2
    process.kill()
    process.wait(timeout=30)
    assert all(ends(pidfd) for pidfd in watched)


def test_who_watches_is_in_no_figure(wrapper: Wrapper) -> None:
    figures = ("rchar", "wchar", "syscr", "syscw")
    wrapper.run("sh", "-c", "kill -URG $$; exit 3")
    expected = {key: wrapper.trace()["proc"][key] for key in figures}
    process, task = start(wrapper, "its parent's group", "kill -STOP $$; exit 3")
    os.kill(task, signal.SIGCONT)
    assert process.wait(timeout=30) == 3
    trace = wrapper.trace()
    assert {key: trace["proc"][key] for key in figures} == expected
    assert not any("outlived" in note for note in trace["probe"].get("notes", []))


# Tells when it is there, sleeps through the stops, and says at last how often it was switched.
SWITCHED = """
import os, resource, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
used = resource.getrusage(resource.RUSAGE_SELF)
os.write(1, b"%d" % (used.ru_nvcsw + used.ru_nivcsw))
os._exit(0)
"""


def stop_both(task: int, wrapper: int) -> None:
    """Stop the command, again where the continue that the wrapper passes on has undone it."""
    deadline = time.monotonic() + 10
    while state_of(wrapper) != "T":
        assert time.monotonic() < deadline, "the wrapper did not stop"
        os.kill(task, signal.SIGSTOP)
        again = time.monotonic() + 0.05
        while state_of(wrapper) != "T" and time.monotonic() < again:
            pass


def test_who_watches_fifty_fast_stops_is_in_no_figure(wrapper: Wrapper) -> None:
    """The next stop comes as soon as both go on: the last watcher has hardly ended."""
    process = wrapper.start(sys.executable, "-c", SWITCHED)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    task = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    wrapper.wait_for_trace()
    for _ in range(STOPS):
        stop_both(task, process.pid)
        os.kill(task, signal.SIGCONT)
        os.kill(process.pid, signal.SIGCONT)
    os.kill(task, signal.SIGUSR1)
    own = int(process.communicate(timeout=30)[0])
    proc = wrapper.trace()["proc"]
    assert own <= proc["vol_ctxt"] + proc["inv_ctxt"] <= own + 3  # its end switches too
