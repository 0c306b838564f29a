"""Measure what collecting costs: `gpu-bench collect` beside a bare loop of the same system calls.

The bare loop lists every task directory, reads `.exitcode` and `.fusion/trace.json`, parses the
trace and encodes it again; it decides nothing. Each side is a process of its own, and they take
turns. The exit status is 1 when collecting takes more than `--limit` times the loop's CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import orjson

from report import Table, as_text

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "tests/data/traces/sample-trace.json"
DEFAULT_TASKS, DEFAULT_ROUNDS, LIMIT = 5_000, 5, 2.0
BUCKETS = 256


def trace_of(index: int) -> bytes:
    """Return a trace as gpu-probe writes it: the published sample, a device and a probe block."""
    trace = json.loads(SAMPLE.read_bytes())
    trace["gpu"]["devices"] = [
        {
            **{key: trace["gpu"][key] for key in ("name", "mem", "pct", "peak", "avg_mem")},
            "index": 0,
            "uuid": f"GPU-00000000-0000-0000-0000-{index:012x}",
            "coverage": 1.0,
            "samples": 4000,
            "utilization_source": "nvml_samples",
            "memory_source": "nvml_memory_v2",
        }
    ]
    trace["probe"] = {
        "schema": 1,
        "version": "0.1.0",
        "run_id": f"{index:032x}",
        "pid": 4711,
        "pid_start": 99,
        "hostname": f"node{index % 100}",
        "state": "final",
        "start_ms": 1_700_000_000_000 + index,
        "written_ms": 1_700_000_660_541 + index,
        "exit": 0,
        "samples": 661,
        "coverage": 1.0,
        "unavailable": [],
        "scope": {"gpus": "cuda_visible_devices", "confidence": "exact", "cgroup": "own"},
        "mock": False,
        "notes": [],
    }
    return json.dumps(trace, indent=2).encode()


def make_tree(root: Path, tasks: int) -> None:
    """Lay out task directories as Nextflow does: two levels, 256 directories in the first."""
    for index in range(tasks):
        task = root / f"{index % BUCKETS:02x}" / f"{index:030x}"
        (task / ".fusion").mkdir(parents=True)
        (task / ".fusion" / "trace.json").write_bytes(trace_of(index))
        (task / ".exitcode").write_bytes(b"0\n")
        (task / ".command.sh").write_bytes(b"#!/bin/bash\ntrue\n")


def floor(root: Path, out: Path) -> None:
    """Do the system calls that no collector can do without, and nothing else."""
    with out.open("wb") as file:
        for bucket in list(os.scandir(root)):
            for task in list(os.scandir(bucket.path)):
                with os.scandir(task.path) as entries:
                    for _ in entries:
                        pass
                read(f"{task.path}/.exitcode")
                trace = orjson.loads(read(f"{task.path}/.fusion/trace.json"))
                file.write(orjson.dumps(trace, option=orjson.OPT_APPEND_NEWLINE))


def read(path: str) -> bytes:
    """Open, read and close."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 20)
    finally:
        os.close(descriptor)


def ours(root: Path, out: Path) -> None:
    """Run the command line as a user does."""
    status = import_module("collector.cli").main(["collect", str(root), "--to", str(out)])
    if status != 0:
        raise SystemExit(status)


SIDES = {"floor": floor, "ours": ours}


def one_side(side: str, root: Path, out: Path) -> None:
    """Run one side in this process and print its times and its peak of memory.

    Importing, which is paid once whatever the number of tasks, is not timed.
    """
    if side == "ours":
        import_module("collector.cli.collect")
    wall, cpu = time.monotonic(), time.process_time()
    SIDES[side](root, out)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"wall": wall, "cpu": cpu, "peak_kib": int(peak)}))


def measure(side: str, root: Path, out: Path) -> dict[str, float]:
    """Run one side in a process of its own."""
    argv = [sys.executable, str(HERE / "collect_cost.py"), "--side", side, str(root), str(out)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def compare(root: Path, out: Path, tasks: int, rounds: int) -> tuple[Table, float]:
    """Let both sides take turns; return the table and the ratio of the medians of CPU time."""
    found: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for index in range(rounds + 1):
        for side in sorted(SIDES, reverse=bool(index % 2)):
            measured = measure(side, root, out)
            if index > 0:  # the first round warms the caches
                found[side].append(measured)
    middle = {
        side: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for side, runs in found.items()
    }
    rows = tuple(
        (
            side,
            f"{values['cpu'] / tasks * 1e6:.1f}",
            f"{values['wall'] / tasks * 1e6:.1f}",
            f"{values['peak_kib'] / 1024:.1f}",
        )
        for side, values in middle.items()
    )
    head = ("CPU per task, µs", "wall per task, µs", "peak RSS, MiB")
    table = Table(title=f"{tasks} tasks, median of {rounds}", head=head, rows=rows)
    return table, middle["ours"]["cpu"] / middle["floor"]["cpu"]


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 where collecting costs too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=DEFAULT_TASKS)
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="largest ratio of CPU times")
    parser.add_argument("--side", nargs=3, metavar=("SIDE", "ROOT", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.side:
        side, root, out = arguments.side
        one_side(side, Path(root), Path(out))
        return 0
    with tempfile.TemporaryDirectory(prefix="collect-cost-") as scratch:
        root = Path(scratch) / "work"
        make_tree(root, arguments.tasks)
        out = Path(scratch) / "out.jsonl"
        table, ratio = compare(root, out, arguments.tasks, arguments.rounds)
    print(as_text(table))
    print(f"ratio of CPU times: {ratio:.2f}; Python {platform.python_version()}")
    return 0 if ratio <= arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
