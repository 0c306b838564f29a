"""The command must not notice the wrapper, nor its caller."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper, ends

KILLING = [
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGABRT,
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGPIPE,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGXCPU,
    signal.SIGRTMIN,
    signal.SIGRTMAX,
]


def test_every_exit_status_is_passed_on(wrapper: Wrapper) -> None:
    for status in range(256):
        assert wrapper.run("sh", "-c", f"exit {status}").returncode == status


def test_each_entry_point_passes_the_exit_status_on(any_entry: Wrapper) -> None:
    assert any_entry.run("sh", "-c", "exit 7").returncode == 7
    assert any_entry.trace()["probe"]["exit"] == 7


@pytest.mark.parametrize("number", KILLING)
def test_death_by_a_signal_stays_one(wrapper: Wrapper, number: signal.Signals) -> None:
    done = wrapper.run("sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == -number
    probe = wrapper.trace()["probe"]
    assert probe["signal"] == number
    assert "exit" not in probe


def test_own_errors_have_their_own_status(any_entry: Wrapper, tmp_path: Path) -> None:
    missing = any_entry.run("no-such-command-anywhere")
    assert (missing.returncode, missing.stderr) == (
        127,
        "gpu-probe: no-such-command-anywhere: No such file or directory; it is not on PATH\n",
    )
    assert any_entry.run(str(tmp_path)).returncode == 126
    wrong = any_entry.run("true", options=["--interval", "5"])
    assert wrong.returncode == 125
    assert wrong.stderr.startswith("gpu-probe: --interval: '5' is not a time with a unit")


def test_a_script_without_interpreter_line_is_run_by_the_shell(
    wrapper: Wrapper, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("echo from the shell\n")
    script.chmod(0o755)
    assert wrapper.run(str(script)).stdout == "from the shell\n"


def test_arguments_input_output_and_environment_pass_through(any_entry: Wrapper) -> None:
    code = "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.environ['X'], os.getcwd())"
    arguments = ["--help", "a b", "", "ü\n'\""]
    done = any_entry.run(sys.executable, "-c", code, *arguments, input="in", X="1")
    assert done.stdout == f"{arguments} in 1 {Path.cwd()}\n"
    assert done.stderr == ""


@pytest.mark.parametrize("command", [["env"], ["sh", "-c", "ulimit -a; umask; nice"]])
def test_the_command_finds_what_it_would_find_bare(wrapper: Wrapper, command: list[str]) -> None:
    bare = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True)
    without_underscore = [
        [line for line in text.splitlines() if not line.startswith("_=")]
        for text in (wrapper.run(*command).stdout, bare.stdout)
    ]
    assert without_underscore[0] == without_underscore[1]


STATE = (
    "import os; print(os.getpgid(0), os.getsid(0), [l for l in open('/proc/self/status') if "
    "l.startswith(('SigBlk', 'SigIgn', 'SigCgt', 'NoNewPrivs', 'Cpus_allowed:'))], "
    "sorted(os.listdir('/proc/self/fd')))"
)


def test_group_session_signals_and_descriptors_are_unchanged(wrapper: Wrapper) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)

    def run(command: list[str]) -> str:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, pass_fds=[write_end]
        ).stdout

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    old = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        command = [sys.executable, "-c", STATE]
        wrapped, bare = run(wrapper.command(*command)), run(command)
    finally:
        signal.signal(signal.SIGCHLD, old)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])
        os.close(read_end)
        os.close(write_end)
    assert wrapped == bare


def test_a_reader_sees_the_end_when_the_command_closes_its_output(wrapper: Wrapper) -> None:
    """At once on stdout; on stderr, of which the wrapper keeps a copy, within a second."""
    script = "echo out; echo err >&2; exec >&- 2>&-; read line"
    process = wrapper.start("sh", "-c", script, options=["--interval", "30s"])
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdin is not None
    assert process.stdout.read() == "out\n"  # returns only at the end of the pipe
    begin = time.monotonic()
    assert process.stderr.read() == "err\n"
    assert time.monotonic() - begin < 1.5
    assert process.poll() is None
    process.communicate("go\n")
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGRTMIN])
def test_a_signal_to_the_wrapper_reaches_the_command_once(
    wrapper: Wrapper, number: signal.Signals
) -> None:
    code = (
        "import signal, sys; seen = []\n"
        f"signal.signal({int(number)}, lambda *a: seen.append(1))\n"
        "signal.signal(signal.SIGALRM, lambda *a: sys.exit(40 + len(seen)))\n"
        "print('ready', flush=True)\n"
        "while not seen: signal.pause()\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "while True: signal.pause()\n"
    )
    process = wrapper.start(sys.executable, "-c", code)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 41


def test_a_killed_wrapper_takes_the_command_with_it_and_leaves_a_trace(wrapper: Wrapper) -> None:
    process = wrapper.start("sh", "-c", "echo $$; exec sleep 60")
    assert process.stdout is not None
    pidfd = os.pidfd_open(int(process.stdout.readline()))
    wrapper.wait_for_trace()
    process.kill()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert ends(pidfd)
    probe = wrapper.trace()["probe"]
    assert probe["state"] == "running"
    assert probe["pid"] == process.pid


def test_as_pid_1_death_by_a_signal_becomes_128_plus_n(wrapper: Wrapper) -> None:
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this place does not allow PID namespaces")
    for script, status in [("kill -9 $$", 137), ("kill -15 $$", 143), ("exit 3", 3)]:
        done = subprocess.run(
            [*unshare, *wrapper.command("sh", "-c", script)], capture_output=True, check=False
        )
        assert done.returncode == status


def test_a_stopped_command_stops_the_wrapper_until_it_is_continued(wrapper: Wrapper) -> None:
    process = wrapper.start("sh", "-c", "kill -STOP $$; exit 5")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=30)
    assert process.returncode == 5


def run_on_a_terminal(command: list[str], **variables: str) -> str:
    """Run with a terminal as stderr; return what was shown there."""
    main, secondary = pty.openpty()
    try:
        environment = os.environ | {"LC_ALL": "C"} | variables
        subprocess.run(command, stderr=secondary, env=environment, check=True, timeout=30)
    finally:
        os.close(secondary)
    shown = b""
    try:
        while part := os.read(main, 4096):
            shown += part
    except OSError:  # the other side is closed
        pass
    os.close(main)
    return shown.decode()


def test_six_lines_on_a_terminal_unless_an_engine_runs_us(wrapper: Wrapper) -> None:
    lines = run_on_a_terminal(wrapper.command("true")).splitlines()
    assert [line.split()[0] for line in lines] == [
        "gpu-probe:",
        "time",
        "GPU",
        "VRAM",
        "energy",
        "trace",
    ]
    assert lines[-1].endswith(str(wrapper.directory / ".fusion" / "trace.json"))
    assert run_on_a_terminal(wrapper.command("true"), NXF_TASK_WORKDIR="/x") == ""
    assert run_on_a_terminal(wrapper.command("true", options=["--no-summary"])) == ""
    assert wrapper.run("true").stderr == ""
    assert len(wrapper.run("true", options=["--summary"]).stderr.splitlines()) == 6


def test_help_and_version(any_entry: Wrapper) -> None:
    for option, start in [("--help", "usage: gpu-probe"), ("--version", "gpu-probe 0.")]:
        done = subprocess.run(
            [*any_entry.entry, option], capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(start)


def test_a_limit_that_our_own_writes_exceed_is_not_the_commands_death(wrapper: Wrapper) -> None:
    script = 'ulimit -f 1; exec "$@"'
    command = wrapper.command("sh", "-c", "sleep 0.3; exit 6")
    done = subprocess.run(["bash", "-c", script, "bash", *command], check=False, timeout=30)
    assert done.returncode == 6


def test_an_alarm_set_before_reaches_the_command(wrapper: Wrapper) -> None:
    code = "import os, signal, sys; signal.alarm(1); os.execvp(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", code, *wrapper.command("sleep", "20")]
    assert subprocess.run(command, check=False, timeout=15).returncode == -signal.SIGALRM


def test_a_command_that_is_continued_by_its_pid_does_not_leave_us_stopped(
    wrapper: Wrapper,
) -> None:
    script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 4"
    command = ["setsid", "--wait", *wrapper.command("sh", "-c", script)]
    assert subprocess.run(command, check=False, timeout=15).returncode == 4


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_stay_closed_and_cost_nothing(
    wrapper: Wrapper, closed: str
) -> None:
    listing = wrapper.directory / "fds"
    code = (
        "import os, sys\n"
        "def is_open(fd):\n"
        "    try: return bool(os.fstat(fd))\n"
        "    except OSError: return False\n"
        "count = sum(map(is_open, (0, 1, 2)))\n"
        "open(sys.argv[1], 'w').write(str(count))\n"
        "os._exit(3)"
    )
    command = wrapper.command(sys.executable, "-c", code, str(listing))
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *command], check=False, timeout=30)
    assert done.returncode == 3
    assert wrapper.trace()["probe"]["exit"] == 3
    assert int(listing.read_text()) == 3 - closed.count("&-")


def test_a_full_pipe_does_not_keep_us(wrapper: Wrapper) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write_end, bytes(4096))
    os.set_blocking(write_end, True)
    command = wrapper.command("true", options=["--summary"])
    assert subprocess.run(command, stderr=write_end, check=False, timeout=15).returncode == 0
    os.close(read_end)
    os.close(write_end)


def test_what_is_no_regular_file_is_not_replaced(wrapper: Wrapper, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for target in (fifo, link):
        done = wrapper.run("sh", "-c", "exit 5", options=["--trace-file", str(target)])
        assert done.returncode == 5
        assert "is no regular file and is left alone" in done.stderr
    assert fifo.is_fifo()
    assert link.is_symlink()
