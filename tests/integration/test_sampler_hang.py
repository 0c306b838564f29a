"""The in-process sampler on a file system that stops answering."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import probe
from helpers.slow_mount import SlowMount

# Says when it has begun, waits for a line, and prints how long the end took and what is known.
PROGRAM = """
import json, sys, time, probe
with probe.Sampler(trace_file=sys.argv[1]) as sampler:
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
print(json.dumps([time.monotonic() - begin, sampler.trace["probe"]["state"]]), flush=True)
"""


def test_a_file_system_that_answers_gets_every_trace(slow: SlowMount, tmp_path: Path) -> None:
    with probe.Sampler(trace_file=tmp_path / "slow" / "t.json") as sampler:
        snapshot = sampler.snapshot()
        assert json.loads(bytes(slow.files["t.json"])) == snapshot
    assert json.loads(bytes(slow.files["t.json"])) == sampler.trace
    assert sampler.trace["probe"]["state"] == "final"
    assert list(slow.files) == ["t.json"]


def test_the_end_is_delayed_by_two_seconds_at_most(slow: SlowMount, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "slow" / "t.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    slow.hang.set()
    process.stdin.write("\n")
    process.stdin.flush()
    elapsed_s, state = json.loads(process.stdout.readline())
    assert 1.9 < elapsed_s < 3.5
    assert state == "final"
    assert json.loads(bytes(slow.files["t.json"]))["probe"]["state"] == "running"
    slow.release()  # the kernel does not let a process end that waits for this file system
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "was not written" in err
    assert "timed out" in err


def test_a_start_that_hangs_is_an_error(slow: SlowMount, tmp_path: Path) -> None:
    slow.hang.set()
    begin = time.monotonic()
    with pytest.raises(probe.ProbeError, match="timed out"):
        probe.Sampler(trace_file=tmp_path / "slow" / "t.json").start()
    assert 1.9 < time.monotonic() - begin < 3.5
