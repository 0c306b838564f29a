"""Resource limits: where there is no room for the wrapper, the command runs all the same."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper

# What the command can see without a process of its own: the wrapper must leave none of its own.
LOOK = (
    "while read -r a b; do case $a in Sig*|NoNewPrivs:) echo $a $b;; esac; done"
    " < /proc/self/status; ulimit -n; ulimit -t; echo /proc/self/fd/*; exit 3"
)
SUBREAPER = (
    "import ctypes, os, sys\n"
    "libc, value = ctypes.CDLL(None), ctypes.c_int()\n"
    "if sys.argv[1:]: libc.prctl(36, 1); os.execvp(sys.argv[1], sys.argv[1:])\n"
    "libc.prctl(37, ctypes.byref(value)); sys.exit(40 + value.value)\n"
)


@pytest.fixture(scope="session")
def static_command(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a command that needs next to no memory; it ends with 7."""
    directory = tmp_path_factory.mktemp("static")
    source, command = directory / "seven.c", directory / "seven"
    source.write_text("int main(void) { return 7; }\n")
    for compiler in filter(shutil.which, ("musl-gcc", "gcc")):
        making = [compiler, "-static", "-Os", str(source), "-o", str(command)]
        if subprocess.run(making, capture_output=True, check=False).returncode == 0:
            return str(command)
    pytest.skip("no compiler makes a static executable here")


def under(limits: str, command: list[str]) -> "subprocess.CompletedProcess[str]":
    script = f'{limits} && exec "$@"'
    return subprocess.run(
        ["bash", "-c", script, "bash", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("limit", ["-v 400", "-v 1000", "-v 1800", "-d 100", "-d 900", "-s 64"])
def test_where_there_is_no_memory_for_us_the_command_runs(
    wrapper: Wrapper, static_command: str, limit: str
) -> None:
    assert under(f"ulimit {limit}", [static_command]).returncode == 7
    loud = under(f"ulimit {limit}", wrapper.command(static_command))
    quiet = under(f"ulimit {limit}", wrapper.command(static_command, options=["--quiet"]))
    assert loud.returncode == quiet.returncode == 7
    assert quiet.stderr == ""
    kind, kib = limit.split()
    expected = rf"gpu-probe: no trace: {kib} KiB of [a-z ]+ \(ulimit {kind}\) are too few"
    [line] = loud.stderr.splitlines()
    assert re.match(expected, line), line


def test_where_there_can_be_no_second_process_the_command_takes_our_place(
    wrapper: Wrapper,
) -> None:
    if os.geteuid() == 0:
        other = ["setpriv", "--reuid", "65531", "--regid", "65531", "--clear-groups", "--"]
    else:
        other = []
    inner = 'ulimit -Sn 20; ulimit -St 1000; ulimit -u 1; exec "$@"'
    limited = [*other, "bash", "-c", inner, "bash"]
    look = ["sh", "-c", LOOK]
    bare = under("true", [*limited, *look])
    assert bare.returncode == 3
    assert "20\n1000\n" in bare.stdout
    loud = under("true", [*limited, *wrapper.command(*look)])
    assert (loud.returncode, loud.stdout) == (3, bare.stdout)
    assert re.fullmatch(
        r"gpu-probe: no trace: no process beside this one: .*; the command runs unmeasured\n",
        loud.stderr,
    )
    quiet = under("true", [*limited, *wrapper.command(*look, options=["--quiet"])])
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (3, bare.stdout, "")


def test_our_own_cpu_time_does_not_reach_the_commands_soft_limit(wrapper: Wrapper) -> None:
    script = "ulimit -St; ulimit -Ht; grep 'Max cpu time' /proc/$PPID/limits"
    done = under("ulimit -St 1000; ulimit -Ht 3000", wrapper.command("sh", "-c", script))
    soft, hard, ours = done.stdout.splitlines()
    assert (soft, hard) == ("1000", "3000")
    assert ours.split()[3:5] == ["3000", "3000"]


def test_the_commands_own_cpu_time_does(wrapper: Wrapper) -> None:
    done = under("ulimit -St 1", wrapper.command("sh", "-c", "while :; do :; done"))
    assert done.returncode == -signal.SIGXCPU
    assert wrapper.trace()["probe"]["signal"] == signal.SIGXCPU


def test_a_reaper_of_orphans_stays_one(wrapper: Wrapper) -> None:
    look = [sys.executable, "-c", SUBREAPER]
    for entry in (look, wrapper.command(*look)):
        assert subprocess.run(entry, check=False).returncode == 40
        assert subprocess.run([*look, *entry], check=False).returncode == 41


def test_an_empty_name_is_no_command(wrapper: Wrapper) -> None:
    done = wrapper.run("", PATH=f"{Path(sys.executable).parent}:/bin")
    assert done.returncode == 127
    assert done.stderr.startswith("gpu-probe: : No such file or directory")
