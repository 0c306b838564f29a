"""Run a load under gpu-probe, with nvidia-smi polling beside it."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["LoadFailed", "Poll", "Run", "bare", "polling", "truth_of", "wrapped"]


class LoadFailed(Exception):
    """A load did not end well; the message has its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a load said of itself, and its trace and timeline."""

    truth: dict[str, Any]
    trace: dict[str, Any]
    timeline: dict[str, Any]

    @property
    def realtime_s(self) -> float:
        """Give the time from start to end, as the trace has it."""
        return float(self.trace["proc"]["realtime"]) / 1000

    def device(self, kind: str = "trace") -> dict[str, Any]:
        """Give the entry of the device that the load used, {} if there is none.

        A device is known by its uuid; a single one is taken for it in any case, since an instance
        of a partitioned device has another uuid for CUDA than for NVML.
        """
        block = self.trace.get("gpu", {}) if kind == "trace" else self.timeline
        devices: list[dict[str, Any]] = block.get("devices", [])
        own = [entry for entry in devices if entry.get("uuid") == self.truth["uuid"]]
        return next(iter(own or (devices if len(devices) == 1 else [])), {})


@dataclass(slots=True)
class Poll:
    """The readings of a poll of nvidia-smi, in order; empty where there is no nvidia-smi."""

    util_pct: list[float] = field(default_factory=list)
    used_mib: list[float] = field(default_factory=list)

    def mean_util(self) -> float | None:
        """Give the mean of the utilization readings."""
        return statistics.fmean(self.util_pct) if self.util_pct else None

    def peak_used(self) -> float | None:
        """Give the largest memory reading."""
        return max(self.used_mib, default=None)


def truth_of(name: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Read the line of JSON that a load ends with."""
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        raise LoadFailed(f"{name}: exit status {done.returncode}: {' | '.join(words[-3:])}")
    truth: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return truth


def bare(words: Sequence[str]) -> dict[str, Any]:
    """Run a load without the wrapper; give its truth."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return truth_of(Path(words[0]).name, done)


def wrapped(gpu_probe: Path, words: Sequence[str]) -> Run:
    """Run a load under the wrapper."""
    with tempfile.TemporaryDirectory() as directory:
        command = [str(gpu_probe), "--timeline", "--quiet", "--workdir", directory, "--", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        truth = truth_of(Path(words[0]).name, done)
        place = Path(directory, ".fusion")
        timeline = place / "timeline.json"
        return Run(
            truth=truth,
            trace=json.loads((place / "trace.json").read_bytes()),
            timeline=json.loads(timeline.read_bytes()) if timeline.exists() else {},
        )


def parse(text: str) -> Poll:
    """Read what nvidia-smi printed: of several devices, the first of each poll."""
    poll = Poll()
    for line in text.splitlines():
        index, util, used, *_ = [*(cell.strip() for cell in line.split(",")), "", ""]
        if index == "0":
            poll.util_pct += [float(util)] if util.replace(".", "").isdigit() else []
            poll.used_mib += [float(used)] if used.replace(".", "").isdigit() else []
    return poll


@contextmanager
def polling(period_ms: int = 1000) -> Iterator[Poll]:
    """Poll nvidia-smi for the length of the block; the readings are there after it."""
    poll = Poll()
    smi = shutil.which("nvidia-smi")
    if smi is None:
        yield poll
        return
    query = ["--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits"]
    command = [smi, *query, "-lms", str(period_ms)]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        try:
            yield poll
        finally:
            process.terminate()
            process.wait()
        output.seek(0)
        whole = output.read().rpartition("\n")[0]  # the last line may be cut
    read = parse(whole)
    poll.util_pct, poll.used_mib = read.util_pct, read.used_mib
