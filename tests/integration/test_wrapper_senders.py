"""Who sent a signal decides whether it is passed on: terminals, the task itself, the kernel."""

import ctypes
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from helpers.wrapper import Wrapper

LIBC = ctypes.CDLL(None)

# Takes each signal in turn until SIGTERM, and prints it with its code, sender and value.
LISTENER = """
import ctypes, os, signal, sys
numbers = [int(x) for x in sys.argv[1:]]
mask = ctypes.create_string_buffer(128)
libc = ctypes.CDLL(None)
for n in [*numbers, signal.SIGTERM]:
    libc.sigaddset(mask, n)
libc.sigprocmask(signal.SIG_BLOCK, mask, None)
print("ready", flush=True)
info = (ctypes.c_int * 32)()
while True:
    n = libc.sigwaitinfo(mask, info)
    if n == signal.SIGTERM:
        break
    print(n, info[2], info[4], info[6], flush=True)
"""

# Each of 20 children sends SIGUSR1 and stays a zombie until a second one would have come. The exit
# status is how often it came.
SENDERS = """
import os, signal, sys, time
seen = []
signal.signal(signal.SIGUSR1, lambda *a: seen.append(1))
parent = os.getppid()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        os.kill({target}, signal.SIGUSR1)
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    time.sleep(0.03)  # a second one would come in this time
    os.waitpid(pid, 0)
sys.exit(len(seen))
"""


@dataclass(frozen=True, slots=True)
class Listening:
    """A command that prints the signals it gets."""

    process: "subprocess.Popen[str]"

    def line(self) -> list[int]:
        """Wait for the next signal: number, code, sender and value."""
        assert self.process.stdout is not None
        return [int(word) for word in self.process.stdout.readline().split()]

    def rest(self) -> str:
        """End it and return what else it has printed."""
        self.process.terminate()
        return self.process.communicate(timeout=30)[0]


def listen(command: Sequence[str], *numbers: int) -> Listening:
    process = subprocess.Popen(
        [*command, sys.executable, "-c", LISTENER, *map(str, numbers)],
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return Listening(process)


def hang_up(command: Sequence[str]) -> int:
    """Lead a session on a terminal, hang up once it says so, and return the end's wait status."""
    pid, main = pty.fork()
    if pid == 0:
        os.execvp(command[0], list(command))
    shown = b""
    while b"ready\r\n" not in shown:  # its write has ended then
        assert select.select([main], [], [], 20)[0], shown
        shown += os.read(main, 1000)
    os.close(main)
    pidfd = os.pidfd_open(pid)
    ended = select.select([pidfd], [], [], 10)[0]
    os.close(pidfd)
    if not ended:
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert ended, "it lives on after the hangup"
    return status


@pytest.mark.parametrize("options", [["--quiet"], []], ids=["quiet", "summary"])
def test_a_hangup_ends_the_command_of_a_session_leader_as_bare(
    wrapper: Wrapper, options: list[str]
) -> None:
    command = ["sh", "-c", "echo ready; exec sleep 60"]
    bare, wrapped = hang_up(command), hang_up(wrapper.command(*command, options=options))
    assert wrapped == bare == signal.SIGHUP
    assert wrapper.trace()["probe"]["signal"] == signal.SIGHUP


def test_a_hangup_arrives_once_with_a_continue(wrapper: Wrapper) -> None:
    script = (
        "import signal, sys; seen, both = [], [signal.SIGHUP, signal.SIGCONT]\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, both)\n"
        "print('ready', flush=True)\n"
        "while info := signal.sigtimedwait(both, 20 if len(seen) < 2 else 0.3):\n"
        "    seen.append(info.si_signo)\n"
        "sys.exit(10 * seen.count(signal.SIGHUP) + seen.count(signal.SIGCONT))\n"
    )
    command = [sys.executable, "-c", script]
    bare, wrapped = hang_up(command), hang_up(wrapper.command(*command))
    assert os.waitstatus_to_exitcode(wrapped) == os.waitstatus_to_exitcode(bare) == 11


@pytest.mark.parametrize("target", ["0", "-os.getpgrp()"])
def test_a_signal_from_the_task_to_its_group_arrives_once(wrapper: Wrapper, target: str) -> None:
    command = [sys.executable, "-c", SENDERS.format(target=target)]
    for entry in (command, wrapper.command(*command)):
        assert subprocess.run(entry, preexec_fn=os.setpgrp, check=False).returncode == 20


def test_a_signal_from_the_task_to_its_parent_is_not_for_the_command(wrapper: Wrapper) -> None:
    """Documented in docs/measurement.md: bare, it would be for whoever started the command."""
    script = SENDERS.format(target="parent")
    done = subprocess.run(wrapper.command(sys.executable, "-c", script), check=False)
    assert done.returncode == 0


def test_a_descendant_in_another_group_reaches_the_command(wrapper: Wrapper) -> None:
    """Such as a process that knows the wrapper's pid from a file: it cannot mean the group."""
    script = SENDERS.format(target="parent").replace("os.kill(", "os.setpgrp(); os.kill(")
    done = subprocess.run(wrapper.command(sys.executable, "-c", script), check=False)
    assert done.returncode == 20


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGRTMIN + 2])
def test_a_queued_signal_brings_its_value_and_sender(wrapper: Wrapper, number: int) -> None:
    for entry in ([], wrapper.command()):
        listening = listen(entry, number)
        assert LIBC.sigqueue(listening.process.pid, number, ctypes.c_void_p(42)) == 0
        assert listening.line() == [number, -1, os.getpid(), 42]
        assert listening.rest() == ""


def test_real_time_signals_keep_their_number_and_order(wrapper: Wrapper) -> None:
    number = signal.SIGRTMIN + 3
    listening = listen(wrapper.command(), number)
    for value in range(100):
        assert LIBC.sigqueue(listening.process.pid, number, ctypes.c_void_p(value)) == 0
    assert [listening.line()[3] for _ in range(100)] == list(range(100))
    assert listening.rest() == ""
