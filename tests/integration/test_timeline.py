"""The bounded history beside the trace."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, collect_task
from helpers.wrapper import Wrapper

SAMPLED = ["cpu_pct", "rss_kib", "processes"]


def read_timeline(wrapper: Wrapper) -> dict[str, Any]:
    timeline = json.loads((wrapper.directory / ".fusion" / "timeline.json").read_bytes())
    assert isinstance(timeline, dict)
    return timeline


def assert_whole(timeline: dict[str, Any]) -> None:
    """Check what holds for every timeline."""
    assert timeline["schema"] == 1
    assert 0 < timeline["buckets"] <= 1024
    lanes = [*timeline["metrics"].values()]
    for device in timeline["devices"]:
        lanes += [value for value in device.values() if isinstance(value, dict)]
    for lane in lanes:
        assert set(lane) == {"unit", "mean", "max"}
        assert len(lane["mean"]) == len(lane["max"]) == timeline["buckets"]
        for mean, largest in zip(lane["mean"], lane["max"], strict=True):
            assert (mean is None) == (largest is None)
            assert mean is None or mean <= largest + 0.11


def test_what_a_command_did_over_time(wrapper: Wrapper) -> None:
    hold = "x = bytearray(64 << 20)\nimport time\nwhile time.process_time() < 1: pass"
    done = wrapper.run(sys.executable, "-c", f"{hold}\ntime.sleep(1)", options=["--timeline"])
    assert (done.returncode, done.stderr) == (0, "")
    timeline, trace = read_timeline(wrapper), wrapper.trace()
    assert_whole(timeline)
    assert timeline["run_id"] == trace["probe"]["run_id"]
    assert timeline["start_ms"] == trace["probe"]["start_ms"]
    assert timeline["bucket_ms"] == 100
    # Realtime ends with the command; the last sample is taken a little later.
    shown_ms, real_ms = timeline["buckets"] * 100, trace["proc"]["realtime"]
    assert real_ms <= shown_ms <= real_ms + 300
    metrics = timeline["metrics"]
    assert list(metrics)[:3] == SAMPLED
    assert ("cgroup_memory_bytes" in metrics) == ("cgroup" in trace)
    assert "gpu_pct" not in metrics
    assert timeline["devices"] == []
    cpu_s = sum(pct for pct in metrics["cpu_pct"]["mean"] if pct is not None) / 100 * 0.1
    assert 0.85 <= cpu_s <= 1.35
    asleep = [pct for pct in metrics["cpu_pct"]["mean"][-8:-1] if pct is not None]
    assert sum(asleep) < 0.2 * 7 * 100
    assert max(metrics["rss_kib"]["max"]) <= trace["proc"]["rss"]
    assert max(metrics["rss_kib"]["max"]) > 64 << 10
    assert set(metrics["processes"]["max"]) == {1}


def test_a_short_command_has_one_too(wrapper: Wrapper) -> None:
    assert wrapper.run("sleep", "0.05", options=["--timeline"]).returncode == 0
    timeline = read_timeline(wrapper)
    assert_whole(timeline)
    assert timeline["buckets"] == 1
    assert list(timeline["metrics"])[:3] == SAMPLED
    assert not any("tmp" in path.name for path in (wrapper.directory / ".fusion").iterdir())


def test_only_on_request(wrapper: Wrapper) -> None:
    wrapper.run("true")
    assert [path.name for path in (wrapper.directory / ".fusion").iterdir()] == ["trace.json"]


def test_it_lies_beside_a_named_trace(gpu_probe: Path, tmp_path: Path) -> None:
    named = tmp_path / "one.json"
    command = [str(gpu_probe), "--trace-file", str(named), "--timeline", "true"]
    subprocess.run(command, check=True, timeout=30)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["one.json", "one.timeline.json"]


def test_a_collector_sees_the_same_task_with_and_without(wrapper: Wrapper) -> None:
    wrapper.run("true", options=["--timeline"])
    beside = collect_task(wrapper.directory, CollectOptions(fusion="on"))
    (wrapper.directory / ".fusion" / "timeline.json").unlink()
    assert collect_task(wrapper.directory, CollectOptions(fusion="on")) == beside


def test_a_place_that_is_taken_is_a_note(wrapper: Wrapper) -> None:
    (wrapper.directory / ".fusion" / "timeline.json").mkdir(parents=True)
    assert wrapper.run("sh", "-c", "exit 4", options=["--timeline"]).returncode == 4
    notes = wrapper.trace()["probe"]["notes"]
    assert "timeline: not written: Is a directory" in notes


def test_devices_have_lanes(gpu_wrapper: Wrapper, scenario: Callable[[str], None]) -> None:
    scenario(
        "device 0 uuid=GPU-a mem_mib=16384\ndevice 1 uuid=GPU-b mem_mib=16384\n"
        "series 0 util 0 60 62 20\nseries 0 memutil 0 25\nseries 0 mem 0 4000\n"
        "series 1 util 0 10\nseries 1 mem 0 100\n"
    )
    at = str(time.monotonic_ns() - 60 * 10**9)
    gpu_wrapper.run("sleep", "4", options=["--timeline"], NVMLMOCK_T0=at)
    timeline = read_timeline(gpu_wrapper)
    assert_whole(timeline)
    first, second = timeline["devices"]
    assert (first["uuid"], second["uuid"]) == ("GPU-a", "GPU-b")
    assert (first["index"], second["index"]) == (0, 1)
    assert set(first["gpu_pct"]["mean"][:17]) == {60}
    assert set(first["gpu_pct"]["mean"][24:37]) == {20}
    assert set(first["gpu_mem_bw_pct"]["mean"][:37]) == {25}
    assert set(first["gpu_mem_mib"]["mean"]) == {4000}
    assert set(second["gpu_pct"]["mean"][:37]) == {10}
    assert set(timeline["metrics"]["gpu_pct"]["mean"][24:37]) == {15}
    assert set(timeline["metrics"]["gpu_pct"]["max"][24:37]) == {20}
    assert set(timeline["metrics"]["gpu_mem_mib"]["mean"]) == {4100}


def test_a_checkpoint_writes_it_and_memory_stays_small(wrapper: Wrapper) -> None:
    if b"__asan_init" in Path(wrapper.entry[0]).read_bytes():
        pytest.skip("a sanitizer has a memory of its own")
    sleeps = "for i in $(seq 64); do sleep 60 & done"
    script = f"trap '' TERM; {sleeps}; echo up; read line; kill -KILL $(jobs -p)"
    process = wrapper.start("bash", "-c", script, options=["--timeline"])
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1.2)
    assert not (wrapper.directory / ".fusion" / "timeline.json").exists() or read_timeline(wrapper)
    process.send_signal(signal.SIGTERM)  # a checkpoint at once
    deadline = time.monotonic() + 10
    while not (wrapper.directory / ".fusion" / "timeline.json").exists():
        assert time.monotonic() < deadline
        os.sched_yield()
    status = Path(f"/proc/{process.pid}/status").read_text()
    [peak_kib] = [int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line]
    assert peak_kib <= 1536
    process.communicate("\n", timeout=30)
    assert max(read_timeline(wrapper)["metrics"]["processes"]["max"]) >= 65
