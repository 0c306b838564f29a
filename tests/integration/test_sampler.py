"""The in-process sampler: the same core, inside this interpreter."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import probe
from helpers.wrapper import Wrapper, read_trace

CONSTANT = """
device 0 name="Mock A100" mem_mib=40960
series 0 util 0 35
series 0 memutil 0 10
series 0 mem 0 1234
"""


@pytest.fixture
def driver(
    monkeypatch: pytest.MonkeyPatch,
    mock_library: Path,
    tmp_path: Path,
    scenario: Callable[[str], None],
) -> Path:
    """Give the mock driver, busy with a constant load for a minute already."""
    scenario(CONSTANT)
    monkeypatch.setenv("NVMLMOCK_SCENARIO", str(tmp_path / "scenario.txt"))
    monkeypatch.setenv("NVMLMOCK_T0", str(time.monotonic_ns() - 60 * 10**9))
    return mock_library


def in_a_fresh_interpreter(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def children() -> set[str]:
    """Processes below this one, zombies included, whichever thread made them."""
    return {
        child
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text().split()
    }


def names(directory: str) -> list[str]:
    return sorted(entry.name for entry in Path(directory).iterdir())


def test_blocks_and_file_are_the_same(tmp_path: Path) -> None:
    with probe.Sampler(tmp_path) as sampler:
        running = read_trace(tmp_path)
        assert running["probe"]["state"] == "running"
        assert running["probe"]["pid"] == os.getpid()
    assert sampler.trace == read_trace(tmp_path)
    final = sampler.trace["probe"]
    assert final["state"] == "final"
    assert final["run_id"] == running["probe"]["run_id"]
    assert "exit" not in final
    assert "signal" not in final


def test_one_scenario_gives_one_gpu_block(
    driver: Path, tmp_path: Path, gpu_wrapper: Wrapper
) -> None:
    with probe.Sampler(tmp_path, nvml_library=driver) as sampler:
        time.sleep(1.2)  # the length of the measured load
    gpu_wrapper.run("sleep", "1.2", NVMLMOCK_T0=os.environ["NVMLMOCK_T0"])
    inside, outside = sampler.trace["gpu"], gpu_wrapper.trace()["gpu"]
    assert list(inside) == list(outside)
    # A mean of power takes a second between two readings, which a busy machine may not leave.
    keys = [[k for k in gpu["devices"][0] if k != "avg_power_mw"] for gpu in (inside, outside)]
    assert keys[0] == keys[1]
    varying = {"active_time", "devices"}
    assert {k: v for k, v in inside.items() if k not in varying} == {
        k: v for k, v in outside.items() if k not in varying
    }
    assert (inside["pct"], inside["avg_mem"]) == (35, 1234)
    assert abs(inside["active_time"] - outside["active_time"]) <= 2 * 167


def test_own_work_and_that_of_children_is_counted(tmp_path: Path) -> None:
    with probe.Sampler(tmp_path) as sampler:
        deadline = time.process_time() + 0.3
        while time.process_time() < deadline:
            pass
        burn = "import time\nwhile time.process_time() < 0.3: pass"
        subprocess.run([sys.executable, "-c", burn], check=True)
        Path(os.devnull).write_bytes(b"x" * 1_000_000)
    proc = sampler.trace["proc"]
    assert 600 <= proc["pct_cpu"] / 1000 * proc["realtime"] < 1500
    assert proc["wchar"] >= 1_000_000


def test_memory_from_before_is_not_this_measurements(tmp_path: Path) -> None:
    done = in_a_fresh_interpreter(
        """
        import json, sys, probe
        block = bytearray(300 * 2**20); block[::4096] = bytes(len(block) // 4096)
        del block
        with probe.Sampler(sys.argv[1]) as sampler:
            block = bytearray(50 * 2**20); block[::4096] = bytes(len(block) // 4096)
            del block
        print(json.dumps(sampler.trace["proc"]))
        """,
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak_rss"] < 200 * 1024


def test_it_samples_while_the_interpreter_is_locked(tmp_path: Path) -> None:
    with probe.Sampler(tmp_path, interval=0.01) as sampler:
        before = sampler.snapshot()["probe"]["samples"]
        ctypes.PyDLL(None).usleep(300_000)  # PyDLL keeps the GIL during the call
        after = sampler.snapshot()["probe"]["samples"]
    assert after - before >= 20


def test_import_starts_nothing() -> None:
    done = in_a_fresh_interpreter(
        """
        import os
        before = len(os.listdir("/proc/self/task")), os.listdir("/proc/self/fd")
        import probe
        assert (len(os.listdir("/proc/self/task")), os.listdir("/proc/self/fd")) == before
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_left_behind(driver: Path, tmp_path: Path) -> None:
    threads = threading.active_count(), len(names("/proc/self/task"))
    descriptors = names("/proc/self/fd")
    before = children()
    for _ in range(3):
        with probe.Sampler(tmp_path, nvml_library=driver) as sampler:
            assert children() > before  # the helper
        assert sampler.trace["probe"]["state"] == "final"
    assert children() == before
    assert names("/proc/self/fd") == descriptors
    assert (threading.active_count(), len(names("/proc/self/task"))) == threads


def test_the_helper_is_not_booked(driver: Path, tmp_path: Path) -> None:
    with probe.Sampler(tmp_path) as sampler:
        time.sleep(0.3)
    without = sampler.trace["proc"]
    for _ in range(2):  # the second one starts after the first one's helper was waited for
        with probe.Sampler(tmp_path, nvml_library=driver) as sampler:
            time.sleep(0.3)
        proc = sampler.trace["proc"]
        assert proc["rss"] - without["rss"] < 1024
        assert proc["wchar"] == without["wchar"]


def test_without_a_directory_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with probe.Sampler(None) as sampler:
        assert sampler.snapshot()["probe"]["state"] == "running"
    assert list(tmp_path.iterdir()) == []
    with probe.Sampler(None, trace_file="t.json"):
        pass
    assert json.loads((tmp_path / "t.json").read_bytes())["probe"]["state"] == "final"
    with probe.Sampler():
        pass
    assert read_trace(tmp_path)["probe"]["state"] == "final"


def test_misuse_is_said_plainly(tmp_path: Path) -> None:
    sampler = probe.Sampler(tmp_path)
    for call in (sampler.stop, sampler.snapshot, lambda: sampler.trace):
        with pytest.raises(probe.ProbeError, match="is not running"):
            call()
    with sampler, pytest.raises(probe.ProbeError, match="already running"):
        sampler.start()
    with pytest.raises(ValueError, match=r"at least 0\.01 s"):
        probe.Sampler(interval=0.001)
    with pytest.raises(ValueError, match=r"at least 0\.01 s"):
        probe.Sampler(interval=float("nan"))
    with pytest.raises(ValueError, match="at most a day"):
        probe.Sampler(interval=float("inf"))
    with pytest.raises(ValueError, match="null character"):
        probe.Sampler("a\0b").start()
    with pytest.raises(TypeError, match="number of seconds"):
        probe.Sampler(interval="1s")  # type: ignore[arg-type]  # the mistake that is tested
    missing = tmp_path / "missing"
    with pytest.raises(probe.ProbeError, match=f"{missing}/.fusion: No such file or directory"):
        probe.Sampler(missing).start()


def test_an_error_in_the_body_still_leaves_a_final_trace(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), probe.Sampler(tmp_path):
        _ = 1 / 0
    assert read_trace(tmp_path)["probe"]["state"] == "final"


def test_a_program_that_never_stops_still_leaves_a_final_trace(tmp_path: Path) -> None:
    code = "import sys, probe; s = probe.Sampler(sys.argv[1]).start()"
    done = in_a_fresh_interpreter(code, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert read_trace(tmp_path)["probe"]["state"] == "final"


def test_a_forked_child_leaves_the_measurement_alone(tmp_path: Path) -> None:
    code = """
        import os, sys, warnings, probe
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside a thread: the subject
        with probe.Sampler(sys.argv[1]) as sampler:
            pid = os.fork()
            if pid == 0:
                try:
                    sampler.snapshot()
                except probe.ProbeError as error:
                    assert "forked child" in str(error)
                    sys.exit(33)  # runs finalizers, as a multiprocessing worker may
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 33
            assert sampler.snapshot()["probe"]["state"] == "running"
        """
    done = in_a_fresh_interpreter(code, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert read_trace(tmp_path)["probe"]["state"] == "final"


def test_signals_stay_with_the_program(tmp_path: Path) -> None:
    code = """
        import os, signal, sys, probe
        seen = []
        signal.signal(signal.SIGUSR1, lambda *a: seen.append(1))
        with probe.Sampler(sys.argv[1], interval=0.01):
            for _ in range(50):
                os.kill(os.getpid(), signal.SIGUSR1)
        assert len(seen) == 50
        """
    done = in_a_fresh_interpreter(code, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_final_trace_that_is_not_written_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    place = tmp_path / "place"
    place.mkdir()
    with probe.Sampler(place) as sampler:
        shutil.rmtree(place)
    assert sampler.trace["probe"]["state"] == "final"
    assert "the final trace was not written" in caplog.text
