"""What the wrapper writes down, of real processes."""

import json
import os
import platform
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from collector.collect import CollectOptions, collect_directories
from helpers.wrapper import Wrapper

MIB = 1024 * 1024

OUTLIVED = "proc: 1 process outlived the task; it counts with what it had used when the task ended"


def test_the_final_trace_tells_who_measured_what(wrapper: Wrapper) -> None:
    before_ms = time.time() * 1000
    assert wrapper.run("sleep", "0.3").returncode == 0
    trace = wrapper.trace()
    probe = trace["probe"]
    assert probe["schema"] == 1
    assert probe["state"] == "final"
    assert probe["exit"] == 0
    assert probe["hostname"] == socket.gethostname()
    assert probe["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert probe["pid_ns"] == Path("/proc/self/ns/pid").stat().st_ino
    assert before_ms - 50 <= probe["start_ms"] <= probe["written_ms"] <= time.time() * 1000 + 50
    assert len(probe["run_id"]) == 32
    assert 300 <= trace["proc"]["realtime"] < 1000
    assert (
        trace["proc"]["arch"]
        == {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}[platform.machine()]
    )
    first = probe["run_id"]
    wrapper.run("true")
    assert wrapper.trace()["probe"]["run_id"] != first
    assert [path.name for path in (wrapper.directory / ".fusion").iterdir()] == ["trace.json"]


def test_cpu_time_of_exited_grandchildren_is_counted(wrapper: Wrapper) -> None:
    burn = "import time\nwhile time.process_time() < 0.15: pass"
    script = f"for i in 1 2 3 4; do sh -c \"python3 -c '{burn}'; true\"; done"
    assert wrapper.run("sh", "-c", script).returncode == 0
    proc = wrapper.trace()["proc"]
    cpu_ms = proc["pct_cpu"] / 1000 * proc["realtime"]
    assert 600 <= cpu_ms < 1500  # four times 150 ms, and the interpreters' starts
    assert proc["pct_cpu"] <= 1000 * (os.cpu_count() or 1) + 10


def test_bytes_of_short_children_are_exact(wrapper: Wrapper) -> None:
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 100000 /dev/zero >/dev/null; done"
    wrapper.run("sh", "-c", "true")
    nothing = wrapper.trace()["proc"]
    wrapper.run("sh", "-c", script)
    proc = wrapper.trace()["proc"]
    assert proc["wchar"] - nothing["wchar"] == 10 * 100_000


def test_memory_of_the_tree_is_summed_and_peaks_are_kept(wrapper: Wrapper) -> None:
    hold = (
        "b = bytearray(60 * 2**20); b[::4096] = bytes(len(b) // 4096); import time; time.sleep(0.6)"
    )
    wrapper.run("sh", "-c", f'python3 -c "{hold}" & python3 -c "{hold}"; wait')
    proc = wrapper.trace()["proc"]
    assert 120 * 1024 <= proc["rss"] < 180 * 1024
    assert proc["peak_rss"] >= proc["rss"]
    assert proc["peak_vmem"] >= proc["vmem"] >= proc["rss"]
    expected = proc["rss"] * 1024 * 1000 / psutil.virtual_memory().total
    assert abs(proc["pct_mem"] - expected) <= 1


def test_a_spike_between_samples_is_not_lost(wrapper: Wrapper) -> None:
    spike = "b = bytearray(80 * 2**20); b[::4096] = bytes(len(b) // 4096)"
    wrapper.run("python3", "-c", spike, options=["--interval", "10s"])
    assert wrapper.trace()["proc"]["peak_rss"] >= 80 * 1024  # ru_maxrss knows


def test_the_wrapper_itself_is_not_measured(wrapper: Wrapper) -> None:
    wrapper.run("sleep", "0.5")
    proc = wrapper.trace()["proc"]
    assert wrapper.trace()["probe"]["samples"] >= 5
    assert proc["wchar"] == 0  # the trace's own bytes
    assert proc["peak_rss"] < 4 * 1024
    assert proc["pct_cpu"] < 50


def test_a_task_of_no_time_has_a_sound_trace(wrapper: Wrapper) -> None:
    for _ in range(20):
        assert wrapper.run("true").returncode == 0
        proc = wrapper.trace()["proc"]
        assert all(value >= 0 for value in proc.values() if not isinstance(value, str))
        assert proc["pct_cpu"] <= 2000


def test_a_running_task_has_a_trace_from_its_start(wrapper: Wrapper) -> None:
    process = wrapper.start("sh", "-c", "echo started; read line")
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    wrapper.wait_for_trace()
    running = wrapper.trace()
    assert running["probe"]["state"] == "running"
    assert running["probe"]["pid"] == process.pid
    assert running["probe"]["pid_start"] == int(
        Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    )
    process.communicate("\n", timeout=30)
    final = wrapper.trace()
    assert final["probe"]["state"] == "final"
    assert final["probe"]["run_id"] == running["probe"]["run_id"]


def test_the_trace_may_go_to_a_file_of_its_own(wrapper: Wrapper, tmp_path: Path) -> None:
    target = tmp_path / "my.json"
    wrapper.run("true", options=["--trace-file", str(target)])
    assert json.loads(target.read_bytes())["probe"]["exit"] == 0
    assert not (wrapper.directory / ".fusion").exists()


@pytest.mark.parametrize("place", ["missing/deeper", "file"])
def test_a_place_that_cannot_be_written_costs_the_task_nothing(
    gpu_probe: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    wrapper = Wrapper(entry=[str(gpu_probe)], directory=tmp_path / place)
    done = wrapper.run("sh", "-c", "echo fine; exit 4")
    assert (done.returncode, done.stdout) == (4, "fine\n")
    assert f"{tmp_path / place}/.fusion" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_removed_directory_costs_the_task_nothing(wrapper: Wrapper) -> None:
    done = wrapper.run("sh", "-c", f"rm -rf {wrapper.directory}; exit 6")
    assert done.returncode == 6


def test_a_daemon_left_behind_is_not_waited_for(wrapper: Wrapper) -> None:
    begin = time.monotonic()
    done = wrapper.start("sh", "-c", "setsid sleep 30 >/dev/null 2>&1 </dev/null & echo $!")
    out, _ = done.communicate(timeout=20)
    assert done.returncode == 0
    assert time.monotonic() - begin < 10
    os.kill(int(out), 9)
    assert OUTLIVED in wrapper.trace()["probe"]["notes"]


def test_a_daemon_counts_with_what_it_had_used(wrapper: Wrapper, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    daemon = (
        "import os, sys, time\n"
        "while time.process_time() < 0.3: pass\n"
        "os.write(os.open('/dev/null', os.O_WRONLY), bytes(1000003))\n"
        f"open({str(fifo)!r}, 'w').close()\n"
        "time.sleep(30)"
    )
    script = f'(setsid python3 -c "$1" >/dev/null 2>&1 & echo $!); cat {fifo}'
    done = wrapper.start("sh", "-c", script, "sh", daemon)
    out, _ = done.communicate(timeout=30)
    os.kill(int(out.split()[0]), 9)
    trace = wrapper.trace()
    assert trace["proc"]["pct_cpu"] / 1000 * trace["proc"]["realtime"] >= 290
    assert trace["proc"]["wchar"] >= 1000003
    assert OUTLIVED in trace["probe"]["notes"]


def test_a_peak_of_two_at_different_times_lies_between_its_bounds(wrapper: Wrapper) -> None:
    """Two live processes that peaked one after the other: only the bounds can be known."""
    one = "import time; b = bytearray(60 << 20); time.sleep(0.8); del b; time.sleep({})"
    script = 'python3 -c "$1" & sleep 1; python3 -c "$2"; wait'
    first, second = one.format(1.5), one.format(0.1)
    words = ("sh", "-c", script, "sh", first, second)
    assert wrapper.run(*words, options=["--interval", "100ms"]).returncode == 0
    trace = wrapper.trace()
    assert 60 * 1024 <= trace["proc"]["peak_rss"] < 110 * 1024
    assert 120 * 1024 <= trace["probe"]["peak_rss_upper_kib"] < 200 * 1024


def test_samples_stay_within_their_budget(wrapper: Wrapper) -> None:
    assert wrapper.run("sleep", "2", options=["--interval", "10ms"]).returncode == 0
    probe = wrapper.trace()["probe"]
    assert probe["interval_ms"] == 10
    assert 5 < probe["samples"] < 100  # 200 would have been asked for
    wrapper.run("sleep", "2", options=["--interval", "10ms", "--budget", "off"])
    assert wrapper.trace()["probe"]["samples"] > 100


def test_the_command_keeps_its_limit_of_descriptors(wrapper: Wrapper) -> None:
    script = 'ulimit -Sn 256; exec "$@"'
    command = wrapper.command("sh", "-c", "ulimit -Sn; sleep 0.1; ulimit -Sn")
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["256", "256"]


def test_an_orphan_that_ends_first_is_counted(wrapper: Wrapper, tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # the parent of the burner ends at once; its standard output is the fifo, which closes with it
    script = f'(setsid python3 -c "{burn}" >{fifo} &); cat {fifo}; sleep 0.1'
    assert wrapper.run("sh", "-c", script).returncode == 0
    proc = wrapper.trace()["proc"]
    assert proc["pct_cpu"] / 1000 * proc["realtime"] >= 300


def test_a_trace_says_which_directory_it_is_of(gpu_probe: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to("work")
    for place in ([], ["--workdir", "../link"], ["--trace-file", str(tmp_path / "t.json")]):
        command = [str(gpu_probe), *place, "--copy-to", str(tmp_path / "copies"), "true"]
        subprocess.run(command, cwd=tmp_path / "work", check=True)
    copies = [json.loads(path.read_bytes()) for path in (tmp_path / "copies").iterdir()]
    assert [copy["probe"]["workdir"] for copy in copies] == [str(tmp_path / "work")] * 3
    records = collect_directories([tmp_path / "copies"], CollectOptions(fusion="on"))
    assert [record["workdir"] for record in records] == [str(tmp_path / "work")] * 3
