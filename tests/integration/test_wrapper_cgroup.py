"""The option --cgroup, on this host's own control groups."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.control_groups import TOUCHER, cgroup_notes, group_of, groups_left
from helpers.wrapper import Wrapper, ends, read_trace

MIB = 1024 * 1024
OWN = ("--cgroup", "own")
SHARED = ("--cgroup", "shared")


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process in this test's group that is no ancestor of the wrapper."""
    process = subprocess.Popen(["sleep", "60"])
    yield process.pid
    process.kill()
    process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "not within ten seconds"
        time.sleep(0.01)


def test_off_reads_nothing(wrapper: Wrapper) -> None:
    assert wrapper.run("true", options=["--cgroup", "off"]).returncode == 0
    trace = wrapper.trace()
    assert "cgroup" not in trace
    assert "cgroup" not in trace["probe"]["scope"]
    assert cgroup_notes(wrapper) == []


def test_auto_leaves_a_shared_group_out_and_says_why(wrapper: Wrapper, stranger: int) -> None:
    assert stranger > 0
    wrapper.run("true", options=SHARED)
    if "cgroup" not in wrapper.trace():
        pytest.skip("this host shows no control group with memory figures")
    wrapper.run("true")
    trace = wrapper.trace()
    assert "cgroup" not in trace
    assert "cgroup" not in trace["probe"]["scope"]
    [note] = cgroup_notes(wrapper)
    assert "the group is not the task's own" in note  # whichever reason is found first
    assert "--cgroup own" in note
    assert "--cgroup shared" in note


def test_shared_writes_a_shared_group_and_says_so(wrapper: Wrapper, stranger: int) -> None:
    assert stranger > 0
    wrapper.run("true", options=SHARED)
    trace = wrapper.trace()
    if "cgroup" not in trace:
        pytest.skip("this host shows no control group with memory figures")
    assert trace["probe"]["scope"]["cgroup"] == "shared"
    [note] = cgroup_notes(wrapper)
    assert note.startswith("cgroup: the group is not")


def test_auto_writes_a_group_that_is_the_tasks_own(inside: Wrapper) -> None:
    assert inside.run(*TOUCHER).returncode == 0
    trace = inside.trace()
    assert trace["probe"]["scope"]["cgroup"] == "own"
    assert cgroup_notes(inside) == []
    assert trace["cgroup"]["memory_peak"] == pytest.approx(100 * MIB, rel=0.05)


def test_own_peaks_are_the_tasks_alone(inside: Wrapper, parent: Path) -> None:
    unrelated = "b = bytearray(300 * 2**20); b[::4096] = bytes(len(b) // 4096)"
    shell = f'echo 0 > {parent}/cgroup.procs && exec python3 -c "{unrelated}"'
    subprocess.run(["sh", "-c", shell], check=True)  # raises the peak of the wrapper's group
    assert inside.run(*TOUCHER, options=OWN).returncode == 0
    trace = inside.trace()
    cgroup = trace["cgroup"]
    assert cgroup["memory_peak"] == pytest.approx(100 * MIB, rel=0.02)
    assert cgroup["memory_peak_rss"] == pytest.approx(100 * MIB, rel=0.02)
    assert cgroup["memory_rss"] == pytest.approx(100 * MIB, rel=0.02)  # as it was before the end
    assert trace["probe"]["scope"]["cgroup"] == "own"
    assert cgroup_notes(inside) == []
    assert groups_left(parent) == []


def test_the_task_is_in_its_group_from_the_start(inside: Wrapper, parent: Path) -> None:
    done = inside.run("cat", "/proc/self/cgroup", options=OWN)
    paths = {
        tuple(line.split(":")[1].split(",")): Path(line.split(":", 2)[2])
        for line in done.stdout.splitlines()
    }
    memory = next(path for controllers, path in paths.items() if "memory" in controllers)
    assert memory.name.startswith("gpu-probe.")
    assert memory.parent.name == parent.name
    cpu = next((path for names, path in paths.items() if names == ("cpu",)), None)
    if cpu is not None:  # nothing is read there, and a group would change the task's share
        assert not cpu.name.startswith("gpu-probe.")


def test_the_groups_cpu_time_has_what_nobody_waits_for(inside: Wrapper) -> None:
    burn = "import time\nwhile time.process_time() < 0.4: pass"
    script = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"  # children are reaped by the kernel
        f"subprocess.Popen([sys.executable, '-c', {burn!r}]).wait()\n"
    )
    assert inside.run("python3", "-c", script, options=OWN).returncode == 0
    trace = inside.trace()
    if "cgroup.cpu_usage_usec" in trace["probe"]["unavailable"]:
        pytest.skip("no group with CPU time may be made here")
    proc_usec = trace["proc"]["pct_cpu"] * trace["proc"]["realtime"]
    assert trace["cgroup"]["cpu_usage_usec"] >= 400_000
    assert trace["cgroup"]["cpu_usage_usec"] >= proc_usec + 300_000


def test_a_kill_for_lack_of_memory_is_counted_and_survived(inside: Wrapper, parent: Path) -> None:
    (parent / "memory.limit_in_bytes").write_text(str(50 * MIB))
    swap = parent / "memory.memsw.limit_in_bytes"
    if swap.exists():
        swap.write_text(str(50 * MIB))
    done = inside.run(*TOUCHER, options=OWN)
    assert done.returncode == -signal.SIGKILL
    trace = inside.trace()
    assert trace["probe"]["state"] == "final"
    assert trace["probe"]["signal"] == signal.SIGKILL
    assert trace["cgroup"]["memory_oom_kills"] == 1
    assert trace["cgroup"]["memory_limit"] == 50 * MIB
    assert 40 * MIB <= trace["cgroup"]["memory_peak"] <= 50 * MIB
    assert groups_left(parent) == []


def test_a_daemon_is_counted_while_alive_and_moved_back(inside: Wrapper, parent: Path) -> None:
    hold = (
        "b = bytearray(60 * 2**20); b[::4096] = bytes(len(b) // 4096);"
        " print(flush=True); import time; time.sleep(60)"
    )
    wait = "while [ ! -s ready ]; do sleep .1; done; sleep .3"
    start = f"setsid python3 -c '{hold}' >ready 2>&1 & echo $!"
    script = f"cd {inside.directory} && touch ready; {start}; {wait}"
    done = inside.run("sh", "-c", script, options=[*OWN, "--interval", "50ms"])
    daemon = int(done.stdout)
    try:
        trace = inside.trace()
        assert trace["cgroup"]["memory_peak_rss"] >= 60 * MIB
        assert trace["cgroup"]["memory_rss"] >= 60 * MIB
        assert group_of(daemon, "memory") == parent
        assert groups_left(parent) == []
        assert cgroup_notes(inside) == []
    finally:
        pidfd = os.pidfd_open(daemon)
        os.kill(daemon, signal.SIGKILL)
        assert ends(pidfd)


def test_groups_of_dead_wrappers_are_cleaned_those_of_live_ones_kept(
    inside: Wrapper, parent: Path, tmp_path: Path
) -> None:
    victim = inside.start(
        "sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!; exec sleep 60", options=OWN
    )
    assert victim.stdout is not None
    left = int(victim.stdout.readline())
    victim.kill()
    victim.communicate(timeout=30)
    [stale] = groups_left(parent)
    assert group_of(left, "memory") == stale
    (tmp_path / "live").mkdir()
    live = Wrapper(entry=inside.entry, directory=tmp_path / "live")
    running = live.start("sh", "-c", "echo up; read line", options=OWN)
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    wait_for(lambda: not stale.exists())
    assert group_of(left, "memory") == parent
    [group] = groups_left(parent)
    assert group.name.startswith(f"gpu-probe.{running.pid}.")
    assert inside.run("true", options=OWN).returncode == 0
    assert groups_left(parent) == [group]
    running.communicate("\n", timeout=30)
    assert live.trace()["probe"]["exit"] == 0
    assert groups_left(parent) == []
    pidfd = os.pidfd_open(left)
    os.kill(left, signal.SIGKILL)
    assert ends(pidfd)


def test_a_command_that_cannot_be_executed_leaves_no_group(inside: Wrapper, parent: Path) -> None:
    assert inside.run("/no/such/command", options=OWN).returncode == 127
    assert groups_left(parent) == []


def test_a_group_that_the_task_made_is_left_alone(inside: Wrapper, parent: Path) -> None:
    script = f"cd {parent}/gpu-probe.* && mkdir inner && exit 3"
    assert inside.run("sh", "-c", script, options=OWN).returncode == 3
    [note] = cgroup_notes(inside)
    assert "could not be removed" in note
    [left] = groups_left(parent)
    assert (left / "inner").is_dir()
    (left / "inner").rmdir()
    assert inside.run("true", options=OWN).returncode == 0  # the next one cleans up
    assert groups_left(parent) == []


def test_without_permission_own_is_auto_with_a_note(wrapper: Wrapper) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody without permission")
    nobody = ["setpriv", "--reuid", "65534", "--clear-groups"]
    with tempfile.TemporaryDirectory() as name:  # pytest's directories are root's alone
        Path(name).chmod(0o777)
        unprivileged = Wrapper(entry=[*nobody, *wrapper.entry], directory=Path(name))
        try:
            done = unprivileged.run("sh", "-c", "exit 5", options=OWN)
        except FileNotFoundError:
            pytest.skip("no setpriv here")
        if done.returncode in {126, 127}:
            pytest.skip(f"cannot run as nobody here: {done.stderr}")
        assert done.returncode == 5
        notes = cgroup_notes(unprivileged)
    assert any("has no group of its own, as with --cgroup auto" in note for note in notes)


@pytest.mark.parametrize("alone", [True, False])
def test_in_process_only_strangers_make_a_group_shared(
    parent: Path, tmp_path: Path, alone: bool
) -> None:
    code = (
        "import sys, probe\n"
        "held = bytearray(100 * 2**20); held[::4096] = bytes(len(held) // 4096)\n"
        "with probe.Sampler(sys.argv[1]): pass\n"
    )
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        if not alone:
            (parent / "cgroup.procs").write_text(str(stranger.pid))
        enter = f'echo 0 > {parent}/cgroup.procs && exec "$@"'
        command = ["sh", "-c", enter, "sh", sys.executable, "-c", code, str(tmp_path)]
        subprocess.run(command, check=True, timeout=60)
    finally:
        stranger.kill()
        stranger.wait()
    trace = read_trace(tmp_path)
    notes = [note for note in trace["probe"]["notes"] if note.startswith("cgroup:")]
    if alone:
        assert trace["probe"]["scope"]["cgroup"] == "own"
        assert trace["cgroup"]["memory_rss"] >= 100 * MIB
        assert notes == []
    else:
        assert "cgroup" not in trace
        assert "other processes are in it" in notes[0]


def test_an_oom_kill_shows_in_the_summary_of_a_success(inside: Wrapper, parent: Path) -> None:
    (parent / "memory.limit_in_bytes").write_text(str(40 * MIB))
    script = f"{' '.join(TOUCHER)} 2>/dev/null; exit 0"
    done = inside.run("sh", "-c", script, options=[*OWN, "--summary"])
    assert done.returncode == 0
    assert "; 1 oom kill\n" in done.stderr


def test_an_oom_kill_is_a_reason_for_a_checkpoint(inside: Wrapper, parent: Path) -> None:
    (parent / "memory.limit_in_bytes").write_text(str(40 * MIB))
    script = f"sleep 2.1; {' '.join(TOUCHER)}; read line"
    process = inside.start("sh", "-c", script, options=[*SHARED, "--interval", "50ms"])
    killed = '"memory_oom_kills": 0'
    trace = inside.directory / ".fusion" / "trace.json"
    inside.wait_for_trace()
    wait_for(lambda: killed not in trace.read_text())
    running = inside.trace()
    assert running["probe"]["state"] == "running"
    assert running["cgroup"]["memory_oom_kills"] == 1
    assert 2000 < running["proc"]["realtime"] < 4500  # the next one would be due at 5 s
    process.communicate("\n", timeout=30)
    assert process.returncode == 0
