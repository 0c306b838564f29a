"""Run all readers of a scenario at once, on one time line."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from accuracy_cases import LEAD_S, Case
from oracle import Window

__all__ = ["PEERS", "Outcome", "Place", "run_case"]

HERE = Path(__file__).resolve().parent
PEERS = {
    "pynvml 1 s": "pynvml_poll",
    "nvitop": "nvitop_collector",
    "gpustat 1 s": "gpustat_poll",
    "nvtop 1 s": "nvtop_snapshot",
    "codecarbon": "codecarbon_tracker",
    "zeus": "zeus_window",
}
NS = 1_000_000_000
READY_S = 60  # for a reader's imports, on a loaded machine
SETTLE_NS = 1_500_000_000  # for the readers' set-up between the word and the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The programs, and a directory for what runs leave behind."""

    gpu_probe: Path
    library: Path
    python: Path  # of the environment that has the peers
    directory: Path

    def environment(self, case: Case) -> dict[str, str]:
        """Give the environment of every reader."""
        return os.environ | {
            "LD_LIBRARY_PATH": str(self.library.parent),
            "NVMLMOCK_SCENARIO": str(case.file),
            "PYTHONPATH": str(HERE),
            # codecarbon looks for a program of that name before it looks at NVML.
            "PATH": f"{HERE / 'peers/bin'}:{os.environ.get('PATH', os.defpath)}",
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """When the task ran, the trace, and what the other readers say; None: they said nothing."""

    window: Window
    trace: dict[str, Any]
    peers: Mapping[str, dict[str, Any] | None]


class Reader:
    """A peer in a process of its own; one that fails says nothing, and stops nothing."""

    def __init__(self, module: str, place: Place, case: Case) -> None:
        self._log = (place.directory / f"{module}.log").open("wb")
        self._process = subprocess.Popen(
            [place.python, "-m", f"peers.{module}"],
            env=place.environment(case),
            cwd=place.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def wait_until_ready(self) -> bool:
        """Wait for the end of its imports; False if that is not how it ends."""
        assert self._process.stdout is not None
        output, deadline = b"", time.monotonic() + READY_S
        while not output.endswith(b"ready\n"):  # libraries print as they are imported
            left_s = max(0.0, deadline - time.monotonic())
            readable, _, _ = select.select([self._process.stdout], [], [], left_s)
            more = os.read(self._process.stdout.fileno(), 4096) if readable else b""
            if not more:
                return False
            output += more
        return True

    def tell(self, line: Mapping[str, int]) -> None:
        """Hand it the time line."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it died: its answer will be nothing
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """Wait for its figures, and for its end."""
        try:
            output, _ = self._process.communicate(timeout=30)
            figures = json.loads(output)
        except (subprocess.TimeoutExpired, ValueError):
            figures = None
        self.close()
        return figures if isinstance(figures, dict) else None

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._log.close()


def start_readers(place: Place, case: Case) -> dict[str, Reader]:
    """Start the peers; give those that are there and ready."""
    if not os.access(place.python, os.X_OK):
        return {}
    readers = {name: Reader(module, place, case) for name, module in PEERS.items()}
    for name in [name for name, reader in readers.items() if not reader.wait_until_ready()]:
        readers.pop(name).close()
    return readers


def run_ours(place: Place, case: Case, start_ns: int) -> tuple[Window, dict[str, Any]]:
    """Run a task under gpu-probe from start_ns on; give when it ran, and the trace.

    The wrapper says itself when the task began and how long it took, to the millisecond; that must
    lie within the life of the wrapper's process.
    """
    t0_ns = start_ns - LEAD_S * NS
    options = ["--quiet", "--workdir", str(place.directory), "--nvml-library", str(place.library)]
    command = [str(place.gpu_probe), *options, "--", "sleep", str(case.seconds)]
    environment = place.environment(case) | {"NVMLMOCK_T0": str(t0_ns)}
    time.sleep(max(0, start_ns - time.monotonic_ns()) / NS)
    spawned_ns = time.monotonic_ns()
    subprocess.run(command, env=environment, check=True, timeout=case.seconds + 60)
    reaped_ns = time.monotonic_ns()
    trace: dict[str, Any] = json.loads((place.directory / ".fusion/trace.json").read_bytes())
    to_monotonic_ns = time.monotonic_ns() - time.time_ns()
    began_ns = trace["probe"]["start_ms"] * 1_000_000 + to_monotonic_ns
    ended_ns = began_ns + trace["proc"]["realtime"] * 1_000_000
    slack_ns = 3_000_000
    if not spawned_ns - slack_ns <= began_ns <= ended_ns <= reaped_ns + slack_ns:
        raise SystemExit(f"accuracy: {case.name}: the trace is of another time than the task")
    return Window(*(Fraction(ns - t0_ns, NS) for ns in (began_ns, ended_ns))), trace


def run_case(place: Place, case: Case) -> Outcome:
    """Run the task, and every peer beside it."""
    readers = start_readers(place, case)
    start_ns = time.monotonic_ns() + SETTLE_NS
    line = {
        "t0_ns": start_ns - LEAD_S * NS,
        "start_ns": start_ns,
        "end_ns": start_ns + round(case.seconds * NS),
    }
    try:
        for reader in readers.values():
            reader.tell(line)
        window, trace = run_ours(place, case, start_ns)
    except BaseException:
        for reader in readers.values():
            reader.close()
        raise
    answers = {name: reader.answer() for name, reader in readers.items()}
    return Outcome(window, trace, {name: answers.get(name) for name in PEERS})
