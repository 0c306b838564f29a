"""nvtop's snapshot (`nvtop -s`), once a second, where nvtop is on the PATH."""

from __future__ import annotations

import json
import re
import subprocess

from peers.readers import Figures, Poll, TimeLine, figures_of_polls, serve

NUMBER = re.compile(r"[0-9.]+")


def number(value: object) -> float | None:
    """Read a figure, which is a string with its unit."""
    found = NUMBER.match(value) if isinstance(value, str) else None
    return float(found.group()) if found else None


def poll(gpu: dict[str, object]) -> Poll:
    """Take what a snapshot says of one device."""
    used = number(gpu.get("mem_used"))
    return Poll(pct=number(gpu.get("gpu_util")), memory_mib=used / 2**20 if used else None)


def snapshot() -> list[Poll]:
    """Run it once."""
    done = subprocess.run(["nvtop", "-s"], check=True, capture_output=True, text=True)
    return [poll(gpu) for gpu in json.loads(done.stdout)]


def read(line: TimeLine) -> Figures:
    """Take snapshots from the start to the end."""
    return figures_of_polls([snapshot() for _ in line.seconds()])


if __name__ == "__main__":
    serve(read)
