"""Measure what the helper that talks to the driver costs, with many devices on the mock driver.

Prints one row of Markdown; the exit status is 1 if the helper holds more than 4 MiB. Nothing but
the standard library is needed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPU_PROBE = HERE.parent / "build/dev/gpu-probe"
MOCK = HERE.parent / "build/dev/mock_nvml/libnvidia-ml.so.1"
RESIDENT_MOST_KIB = 4096
HEAD = "| devices | time | calls per device and s | CPU | share of a core | RSS | PSS |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the helper used."""

    cpu_s: float
    resident_kib: int  # largest so far
    proportional_kib: int  # each page divided by how many processes map it
    calls: int


def scenario(devices: int) -> str:
    """Devices that are busy in turns and can tell everything."""
    return "".join(
        f"device {n} ecc=1\nseries {n} util linear 0 0 30 100 60 {n}\n"
        f"series {n} mem linear 0 0 60 {1000 + n}\nseries {n} clock_sm 0 1500\n"
        for n in range(devices)
    )


def kib(text: str, key: str) -> int:
    """Read a figure of a file in /proc: `key:  N kB`."""
    for line in text.splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise SystemExit(f"helper_cost: no {key} in /proc")


def helper_of(pid: int, deadline: float) -> Path:
    """Wait for the helper of a wrapper; return its directory in /proc."""
    while time.monotonic() < deadline:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            process = Path("/proc", child)
            if b"gpu-probe-nvml" in (process / "cmdline").read_bytes():
                return process
        time.sleep(0.01)
    raise SystemExit("helper_cost: the wrapper started no helper")


def measure(devices: int, seconds: float, directory: Path) -> Cost:
    """Let the helper read devices for a time, and look at it shortly before the end."""
    (directory / "scenario.txt").write_text(scenario(devices))
    log = directory / "calls.log"
    process = subprocess.Popen(
        [
            *(GPU_PROBE, "--quiet", "--workdir", directory, "--nvml-library", MOCK),
            *("--", "sleep", str(seconds + 1)),
        ],
        env=os.environ
        | {"NVMLMOCK_SCENARIO": str(directory / "scenario.txt"), "NVMLMOCK_LOG": str(log)},
    )
    try:
        helper = helper_of(process.pid, time.monotonic() + 10)
        time.sleep(seconds)
        on_cpu_ns = int((helper / "schedstat").read_text().split()[0])
        return Cost(
            cpu_s=on_cpu_ns / 1e9,
            resident_kib=kib((helper / "status").read_text(), "VmHWM"),
            proportional_kib=kib((helper / "smaps_rollup").read_text(), "Pss"),
            calls=len(log.read_text().splitlines()),
        )
    finally:
        process.wait()


def main() -> int:
    """Measure and print; 1: too much memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=16, choices=range(1, 17), metavar="1..16")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        cost = measure(options.devices, options.seconds, Path(directory))
    print(HEAD)
    print("|" + " ---: |" * (HEAD.count("|") - 1))
    print(
        f"| {options.devices} | {options.seconds:.0f} s"
        f" | {cost.calls / options.devices / options.seconds:.2f} | {cost.cpu_s * 1e3:.0f} ms"
        f" | {cost.cpu_s / options.seconds:.3%} | {cost.resident_kib / 1024:.1f} MiB"
        f" | {cost.proportional_kib / 1024:.1f} MiB |"
    )
    return int(cost.resident_kib > RESIDENT_MOST_KIB)


if __name__ == "__main__":
    sys.exit(main())
