"""What other measurers were reported to get wrong, repeated here; docs/reports.md has the list."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper, ends

MIB = 1024 * 1024
CPUS = len(os.sched_getaffinity(0))
OWN = ("--cgroup", "own")
BURN = "import time\nwhile time.process_time() < {}: pass\n"
TELL = "print(time.process_time(), flush=True)\n"
# What an interpreter does after its last look at its own clock.
TEARDOWN_MS = 40


def cpu_ms(wrapper: Wrapper) -> float:
    proc = wrapper.trace()["proc"]
    return float(proc["pct_cpu"] / 1000 * proc["realtime"])


def python(code: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", code)


def own_group(wrapper: Wrapper) -> None:
    """Skip where a task cannot have a control group of its own."""
    wrapper.run("true", options=OWN)
    if wrapper.trace()["probe"]["scope"].get("cgroup") != "own":
        pytest.skip("no permission to make control groups")


def test_two_burners_for_a_part_of_the_time_are_their_cpu_time(wrapper: Wrapper) -> None:
    burner = BURN.format(0.5) + TELL
    script = f'for i in 1 2; do {sys.executable} -c "{burner}" & done; wait; sleep 0.5'
    done = wrapper.run("sh", "-c", script)
    truth_ms = sum(1000 * float(line) for line in done.stdout.split())
    assert truth_ms >= 1000
    assert -1 <= cpu_ms(wrapper) - truth_ms <= 2 * TEARDOWN_MS
    assert wrapper.trace()["proc"]["pct_cpu"] < 1000 * CPUS


@pytest.mark.parametrize("seconds", [0.2, 0.5, 1.1])
def test_one_thread_is_never_more_than_one_cpu(wrapper: Wrapper, seconds: float) -> None:
    wrapper.run(*python(BURN.format(seconds)))
    proc = wrapper.trace()["proc"]
    assert 0 < proc["pct_cpu"] <= 1000 + 1000 // proc["realtime"] + 1  # time is in whole ms
    assert cpu_ms(wrapper) >= 1000 * seconds - 1


def test_the_number_of_cpus_that_is_seen_changes_nothing(wrapper: Wrapper) -> None:
    """Confined to one CPU, two burners are one CPU's worth; nothing divides by a count."""
    burner = BURN.format(0.3)
    script = f'for i in 1 2; do {sys.executable} -c "{burner}" & done; wait'
    cpu = str(min(os.sched_getaffinity(0)))
    confined = Wrapper(entry=["taskset", "-c", cpu, *wrapper.entry], directory=wrapper.directory)
    assert confined.run("sh", "-c", script).returncode == 0
    assert 600 <= cpu_ms(wrapper) <= 600 + 10 * TEARDOWN_MS  # two starts are in it
    assert wrapper.trace()["proc"]["pct_cpu"] <= 1010


def test_many_short_burners_are_never_more_than_there_are_cpus(wrapper: Wrapper) -> None:
    burn = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
    script = f"for n in $(seq 100); do ({burn}) & done; wait"
    assert wrapper.run("sh", "-c", script, options=["--timeline"]).returncode == 0
    assert 0 < wrapper.trace()["proc"]["pct_cpu"] <= 1000 * (os.cpu_count() or 1) + 10
    timeline = json.loads((wrapper.directory / ".fusion" / "timeline.json").read_bytes())
    means = [pct for pct in timeline["metrics"]["cpu_pct"]["mean"] if pct is not None]
    # two readings of ticks may be 10 ms off for each live process; a spike would be thousands
    assert max(means, default=0) <= 100 * (os.cpu_count() or 1) + 100


def test_a_command_that_fails_at_once_is_not_waited_for(wrapper: Wrapper) -> None:
    durations = []
    for _ in range(10):
        begin = time.monotonic()
        assert wrapper.run("sh", "-c", "exit 1").returncode == 1
        durations.append(time.monotonic() - begin)
    assert min(durations) < 0.05
    assert max(durations) < 5


def test_a_terabyte_that_is_only_reserved_is_virtual_alone(wrapper: Wrapper) -> None:
    code = (
        "import ctypes, time\n"
        "libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\n"
        "size = ctypes.c_size_t(1 << 40)\n"
        "at = libc.mmap(None, size, 0, 0x4022, -1, ctypes.c_long(0))\n"  # private, no reserve
        "assert at != ctypes.c_void_p(-1).value\n"
        "time.sleep(0.3)"
    )
    assert wrapper.run(*python(code)).returncode == 0
    proc = wrapper.trace()["proc"]
    assert 1 << 30 <= proc["vmem"] <= proc["peak_vmem"] < (1 << 30) + (1 << 20)  # KiB
    assert proc["peak_rss"] < 100 * 1024


NOBODY = ("setpriv", "--reuid", "65534", "--clear-groups")


def interpreter_of_nobody() -> str:
    """Find an interpreter that somebody without rights can start; skip where there is none."""
    if os.geteuid() == 0:
        for path in (sys.executable, "/usr/bin/python3"):
            attempt = [*NOBODY, "sh", "-c", f"{path} -c ''"]
            if subprocess.run(attempt, capture_output=True, check=False).returncode == 0:
                return path
    pytest.skip("nobody can start an interpreter here")


def test_a_process_that_shows_nothing_of_itself_hides_no_other(gpu_probe: Path) -> None:
    """Nobody but root may read the io file of one that is not dumpable; the kernel's sums may."""
    interpreter = interpreter_of_nobody()
    hidden = (
        "import ctypes, os\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
        "try: open('/proc/self/io').read(); print('readable')\n"
        "except PermissionError: print('hidden')\n"
        "os.write(os.open('/dev/null', os.O_WRONLY), bytes(1000003))\n" + BURN.format(0.2)
    )
    shown = "b = bytearray(60 << 20); b[::4096] = bytes(len(b) // 4096)\n" + BURN.format(0.3)
    script = f'{interpreter} -c "$1" & {interpreter} -c "$2"; wait'
    with tempfile.TemporaryDirectory() as name:  # pytest's directories are root's alone
        Path(name).chmod(0o777)
        unprivileged = Wrapper(entry=[*NOBODY, str(gpu_probe)], directory=Path(name))
        done = unprivileged.run("sh", "-c", script, "sh", hidden, shown)
        assert (done.stdout, done.stderr) == ("hidden\n", "")
        proc = unprivileged.trace()["proc"]
        assert cpu_ms(unprivileged) >= 500
        assert proc["wchar"] >= 1000003
        assert proc["rss"] >= 60 * 1024
        assert proc["peak_rss"] >= 60 * 1024


def test_pages_of_files_are_not_what_the_task_holds(wrapper: Wrapper) -> None:
    own_group(wrapper)
    target = wrapper.directory / "file"
    command = ("dd", "if=/dev/zero", f"of={target}", "bs=1M", "count=64", "status=none")
    assert wrapper.run(*command, options=OWN).returncode == 0
    trace = wrapper.trace()
    assert trace["cgroup"]["memory_peak"] >= 60 * MIB
    assert trace["cgroup"]["memory_peak_rss"] < 8 * MIB
    assert trace["cgroup"]["memory_rss"] < 8 * MIB
    assert trace["proc"]["peak_rss"] < 8 * 1024


def test_shared_memory_counts_in_the_peak_of_the_group(wrapper: Wrapper) -> None:
    own_group(wrapper)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        command = ("dd", "if=/dev/zero", f"of={name}/x", "bs=1M", "count=40", "status=none")
        assert wrapper.run(*command, options=OWN).returncode == 0
    trace = wrapper.trace()
    assert trace["cgroup"]["memory_peak"] >= 40 * MIB
    assert trace["cgroup"]["memory_peak_rss"] < 8 * MIB
    assert trace["proc"]["peak_rss"] < 8 * 1024


def test_a_child_may_have_a_smaller_number_than_its_parent(wrapper: Wrapper) -> None:
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    last = "/proc/sys/kernel/ns_last_pid"
    allowed = subprocess.run(
        [*unshare, "sh", "-c", f"echo 9 >{last}"], capture_output=True, check=False
    )
    if allowed.returncode != 0:
        pytest.skip("process numbers cannot be chosen here")
    hold = "b = bytearray(60 << 20); b[::4096] = bytes(len(b) // 4096)\n" + BURN.format(0.3)
    task = f'echo 9 >{last}; {sys.executable} -c "$1" & echo $$ $!; wait'
    command = wrapper.command("sh", "-c", task, "sh", hold)
    script = f'echo 5000 >{last}; "$@"; exit $?'
    done = subprocess.run(
        [*unshare, "sh", "-c", script, "sh", *command], capture_output=True, text=True, check=True
    )
    parent, child = map(int, done.stdout.split())
    assert child < parent
    assert wrapper.trace()["proc"]["rss"] >= 60 * 1024  # sampled, so the child was found
    assert cpu_ms(wrapper) >= 300


def test_a_wrapper_outlives_the_thread_that_started_it(wrapper: Wrapper) -> None:
    started = []
    thread = threading.Thread(target=lambda: started.append(wrapper.start("cat")))
    thread.start()
    thread.join()
    [process] = started
    out, _ = process.communicate("still here\n", timeout=30)
    assert (process.returncode, out) == (0, "still here\n")


def test_what_goes_on_behind_the_command_survives_it(wrapper: Wrapper, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = f"(read line <{fifo}; echo $line >{tmp_path}/written) >/dev/null 2>&1 & echo $!"
    done = wrapper.start("sh", "-c", writer)
    out, _ = done.communicate(timeout=30)
    assert done.returncode == 0
    pidfd = os.pidfd_open(int(out))
    fifo.write_text("after the end\n")
    assert ends(pidfd)
    assert (tmp_path / "written").read_text() == "after the end\n"


def test_memory_that_many_threads_touch_is_all_seen(wrapper: Wrapper) -> None:
    code = (
        "import threading, time\n"
        "def hold():\n"
        "    b = bytearray(2 << 20); b[::4096] = bytes(len(b) // 4096)\n"
        "    go.wait(); time.sleep(0.5)\n"
        "go = threading.Barrier(32)\n"
        "threads = [threading.Thread(target=hold) for _ in range(32)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    empty = code.replace("2 << 20", "4096")
    figures = []
    for each in (code, empty):
        assert wrapper.run(*python(each)).returncode == 0
        figures.append(wrapper.trace()["proc"])
    slack_kib = 32 * 256  # 64 pages for each thread, before Linux 6.2
    for key in ("rss", "peak_rss"):
        assert figures[0][key] - figures[1][key] == pytest.approx(64 * 1024, abs=slack_kib)
