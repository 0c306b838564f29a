"""A day's work without a ring of samples, in virtual time.

Where a driver has no samples to drain, a mean is one of random readings: a task of seconds shows
little of it. This one is long enough for one percentage point to be demanded.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from accuracy_cases import Case
from accuracy_rows import Row
from accuracy_run import PEERS

__all__ = ["LONG", "measure_long"]

HOURS, LEAD_S = 8, 60
MEAN_PCT = 30.0  # of each step, and the task is made of whole ones
LONG = Case(
    "no-ring-8h",
    HOURS * 3600,
    "the same steps for eight hours, in virtual time: the whole session of the helper, no process",
    ring=False,
)


def scenario_text() -> str:
    """Training steps of 1.0 s, busy for the last 30 % of each."""
    steps = " ".join(f"{s}.7 100 {s + 1} 0" for s in range(HOURS * 3600 + LEAD_S))
    return f"device 0\nhide nvmlDeviceGetSamples\nseries 0 util {steps}\n"


def measure_long(replay: Path, library: Path, directory: Path) -> Row:
    """Replay the task, and hold its mean against that of whole steps."""
    scenario = directory / "long.txt"
    scenario.write_text(scenario_text())
    options = ["--library", str(library), "--duration", f"{LONG.seconds:g}", "--start", f"{LEAD_S}"]
    done = subprocess.run(
        [str(replay), *options],
        env=os.environ | {"NVMLMOCK_SCENARIO": str(scenario)},
        capture_output=True,
        check=True,
        timeout=300,
    )
    ours = json.loads(done.stdout)["gpu"]["pct"]
    return Row(
        scenario=LONG.name,
        metric="pct",
        truth=MEAN_PCT,
        ours=ours,
        peers=dict.fromkeys(PEERS),
        unit="%",
        demand="1 pp",
        missed=abs(ours - MEAN_PCT) > 1,
    )
