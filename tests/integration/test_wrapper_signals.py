"""Signals: raised in the command, sent to the wrapper or to the group, and of a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper

STOPPING = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
HARMLESS = (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)
STARTS = int(os.environ.get("GPU_PROBE_TEST_STARTS", "50"))

# Counts a signal, says when it is ready, and ends 300 ms after the first with 40 + their number.
COUNTER = """
import signal, sys
seen = []
signal.signal({number}, lambda *a: seen.append(1))
signal.signal(signal.SIGALRM, lambda *a: sys.exit(40 + len(seen)))
print("ready", flush=True)
while not seen: signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0.3)
while True: signal.pause()
"""


def counter(number: int) -> list[str]:
    return [sys.executable, "-c", COUNTER.format(number=int(number))]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "not within 20 seconds"
        time.sleep(0.01)


def life_of(command: Sequence[str]) -> list[str]:
    """Run in a process group of its own; tell its stops and its end, as its parent sees them."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=os.setpgrp,  # noqa: PLW1509 - posix_spawn makes glibc ignore signals 32 and 33
    )
    events = []
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            events.append(f"stopped by {os.WSTOPSIG(status)}")
            os.kill(process.pid, signal.SIGCONT)
            continue
        process.returncode = os.waitstatus_to_exitcode(status)
        if os.WIFSIGNALED(status):
            return [*events, f"killed by {os.WTERMSIG(status)}"]
        return [*events, f"exited with {os.WEXITSTATUS(status)}"]


def is_ignored(number: int) -> bool:
    """Tell whether we inherited it ignored: some of the two that glibc hides are, under make."""
    [line] = [x for x in Path("/proc/self/status").read_text().splitlines() if "SigIgn" in x]
    return number in (32, 33) and bool(int(line.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", range(1, 65))
def test_every_signal_raised_in_the_command_looks_as_bare(wrapper: Wrapper, number: int) -> None:
    command = ["/bin/sh", "-c", f"kill -{number} $$; exit 5"]
    bare, wrapped = life_of(command), life_of(wrapper.command(*command))
    assert wrapped == bare
    if number in STOPPING:
        assert bare == [f"stopped by {number}", "exited with 5"]
    elif number in HARMLESS or is_ignored(number):
        assert bare == ["exited with 5"]
    else:
        assert bare == [f"killed by {number}"]


def test_a_stop_is_followed_every_time(wrapper: Wrapper) -> None:
    script = "kill -TSTP $$; kill -STOP $$; kill -TTIN $$; kill -TSTP $$; exit 3"
    names = [f"stopped by {int(n)}" for n in (signal.SIGTSTP, signal.SIGSTOP, signal.SIGTTIN)]
    events = life_of(wrapper.command("/bin/sh", "-c", script))
    assert events == [*names, names[0], "exited with 3"]


def test_a_stop_sent_to_the_wrapper_reaches_the_command(wrapper: Wrapper) -> None:
    process = subprocess.Popen(
        wrapper.command(*counter(signal.SIGUSR1)),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=os.setpgrp,  # noqa: PLW1509 - in an orphaned group, nothing but SIGSTOP stops
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTSTP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert os.WSTOPSIG(status) == signal.SIGTSTP
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=30)
    assert process.returncode == 41


def test_a_signal_to_the_group_may_arrive_twice(wrapper: Wrapper) -> None:
    """Documented in docs/measurement.md: the wrapper cannot tell it from one to itself alone."""
    process = subprocess.Popen(
        wrapper.command(*counter(signal.SIGTERM)),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode in (41, 42)


def test_a_continue_of_the_group_arrives_once(wrapper: Wrapper) -> None:
    process = subprocess.Popen(
        wrapper.command(*counter(signal.SIGCONT)),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    [task] = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    os.killpg(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    wait_for(lambda: ") T " in Path(f"/proc/{task}/stat").read_text())
    os.killpg(process.pid, signal.SIGCONT)
    process.communicate(timeout=30)
    assert process.returncode == 41


def test_a_signal_to_the_group_kills_as_bare(wrapper: Wrapper) -> None:
    process = subprocess.Popen(
        wrapper.command("sh", "-c", "echo ready; exec sleep 60"),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM
    assert wrapper.trace()["probe"]["signal"] == signal.SIGTERM


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Our side of a terminal, and the session leader on the other."""

    fd: int
    leader: "subprocess.Popen[bytes]"

    def read_until(self, text: str) -> str:
        """Read what is shown until the text is; 20 seconds at most."""
        shown, deadline = b"", time.monotonic() + 20
        while text.encode() not in shown:
            left = deadline - time.monotonic()
            assert left > 0, shown.decode()
            if select.select([self.fd], [], [], left)[0]:
                shown += os.read(self.fd, 4096)
        return shown.decode()

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())


class Terminals:
    """Starts commands as leaders of sessions with a terminal; ends them all."""

    def __init__(self) -> None:
        self.opened: list[Terminal] = []

    def run(self, command: Sequence[str]) -> Terminal:
        """Run the command on a new terminal, which is its controlling one."""
        main, secondary = pty.openpty()
        name = os.ttyname(secondary)
        opening = ["sh", "-c", 'exec <>"$0" >&0 2>&0; exec "$@"', name, *command]
        leader = subprocess.Popen(
            opening, stdin=subprocess.DEVNULL, start_new_session=True, close_fds=True
        )
        self.opened.append(Terminal(fd=main, leader=leader))
        os.set_blocking(main, True)
        self.secondary = secondary  # kept open: a terminal that nobody has open gives EIO
        return self.opened[-1]

    def close(self) -> None:
        for terminal in self.opened:
            with suppress(ProcessLookupError):
                os.killpg(terminal.leader.pid, signal.SIGKILL)
            terminal.leader.wait(timeout=20)
            os.close(terminal.fd)
            os.close(self.secondary)


@pytest.fixture
def terminals() -> Iterator[Terminals]:
    opened = Terminals()
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("key", "number"), [("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)], ids=["^C", "^\\"]
)
def test_a_key_of_the_terminal_reaches_the_command_once(
    wrapper: Wrapper, terminals: Terminals, key: str, number: int
) -> None:
    terminal = terminals.run(wrapper.command(*counter(number), options=["--no-summary"]))
    terminal.read_until("ready")
    terminal.type(key)
    assert terminal.leader.wait(timeout=30) == 41


def test_a_signal_to_the_wrapper_on_a_terminal_arrives_once(
    wrapper: Wrapper, terminals: Terminals
) -> None:
    terminal = terminals.run(wrapper.command(*counter(signal.SIGTERM), options=["--no-summary"]))
    terminal.read_until("ready")
    terminal.leader.send_signal(signal.SIGTERM)
    assert terminal.leader.wait(timeout=30) == 41


def test_a_stop_by_the_terminal_stops_both_and_fg_continues(
    wrapper: Wrapper, terminals: Terminals, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text(
        'set -m; "$@"; echo "status $?"; p=$(jobs -p)\n'
        "for q in $p $(cat /proc/$p/task/*/children); do\n"
        "sed 's/.*) //; s/ .*//' /proc/$q/stat; done | tr '\\n' ' '; echo stopped\n"
        'fg >/dev/null; echo "ended $?"\n'
    )
    command = wrapper.command(*counter(signal.SIGUSR1), options=["--no-summary"])
    terminal = terminals.run(["bash", str(script), *command])
    terminal.read_until("ready")
    terminal.type("\x1a")
    shown = terminal.read_until("stopped")
    assert re.search(r"T T [SRD] stopped", shown)  # wrapper, command, and who looks after both
    assert f"status {128 + signal.SIGTSTP}" in shown
    task = int(Path(f"/proc/{terminal.leader.pid}/task/{terminal.leader.pid}/children").read_text())
    wait_for(lambda: ") T " not in Path(f"/proc/{task}/stat").read_text())
    os.kill(task, signal.SIGUSR1)
    assert "ended 41" in terminal.read_until("ended")


@pytest.mark.parametrize("on_a_terminal", [False, True], ids=["no terminal", "terminal"])
def test_no_start_brings_a_signal(
    wrapper: Wrapper, terminals: Terminals, on_a_terminal: bool
) -> None:
    """All signals are blocked, so that one that came would still wait when the command looks."""
    loop = f'i=0; while [ $i -lt {STARTS} ]; do i=$((i+1)); "$@" || exit 1; done; echo finished'
    look = wrapper.command("grep", "Pnd:", "/proc/self/status", options=["--no-summary"])
    command = ["sh", "-c", loop, "sh", *look]
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        if on_a_terminal:
            shown = terminals.run(command).read_until("finished")
        else:
            shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    values = [line.split()[1] for line in shown.splitlines() if "Pnd:" in line]
    assert len(values) == 2 * STARTS
    assert set(values) == {"0" * 16}
