"""Running gpu-replay: a whole task on the mock driver, in virtual time."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Call", "Replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One line of the mock driver's call log."""

    at_s: float  # on the scenario's clock
    function: str
    device: int | None
    instance: int | None  # of a divided device
    outcome: str  # NVML's return code, or "hang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The built executable and library, and a place for scenarios."""

    executable: Path
    library: Path
    directory: Path

    def run(
        self,
        scenario: str,
        *,
        seconds: float,
        start_s: float = 60,
        interval_ms: float = 1000,
        **variables: str,
    ) -> dict[str, Any]:
        """Replay a task that starts when the scenario is start_s old.

        The result has the trace's `gpu` block, unless there is none, and what its `probe` block
        says of GPUs. The call log and the
        timeline stay for `calls` and `timeline`.
        """
        scenario_file = self.directory / "replay.txt"
        scenario_file.write_text(scenario)
        self.log.unlink(missing_ok=True)
        files = {"NVMLMOCK_SCENARIO": str(scenario_file), "NVMLMOCK_LOG": str(self.log)}
        done = subprocess.run(
            [
                *(self.executable, "--library", self.library),
                *("--duration", str(seconds), "--start", str(start_s)),
                *("--interval", str(interval_ms)),
                *("--timeline", str(self.directory / "timeline.json")),
            ],
            env=os.environ | files | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        result = json.loads(done.stdout)
        assert isinstance(result, dict)
        return result

    @property
    def log(self) -> Path:
        return self.directory / "replay.log"

    def timeline(self) -> dict[str, Any]:
        """Read the last run's timeline."""
        timeline = json.loads((self.directory / "timeline.json").read_text())
        assert isinstance(timeline, dict)
        return timeline

    def calls(self) -> list[Call]:
        """Read what the last run asked the driver, in its order."""
        return [parse_call(line) for line in self.log.read_text().splitlines()]


def parse_call(line: str) -> Call:
    at, _thread, function, handle, outcome = line.split()
    device, _, instance = handle.partition(".")
    return Call(
        at_s=float(at),
        function=function,
        device=None if device == "-" else int(device),
        instance=int(instance) if instance else None,
        outcome=outcome,
    )
