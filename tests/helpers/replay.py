"""Running gpu-replay: a whole task on the mock driver, in virtual time."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["HOST_NAMESPACE", "TASK", "Call", "Host", "Replay"]

HOST_NAMESPACE = 4026531836  # the kernel's PROC_PID_INIT_INO
TASK = 100  # the process whose descendants are the task


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One line of the mock driver's call log."""

    at_s: float  # on the scenario's clock
    function: str
    device: int | None
    instance: int | None  # of a divided device
    outcome: str  # NVML's return code, or "hang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What stands for /proc: who is whose child, and how much memory there is.

    Process TASK and its descendants are the task. `foreign`: in the numbers of another PID
    namespace, in which the reader has one of its own.
    """

    parents: Mapping[int, int] = field(default_factory=dict)
    namespace: int = HOST_NAMESPACE
    mem_total_kib: int = 16 << 20
    foreign: bool = False

    def write(self, root: Path) -> None:
        if self.foreign:
            (root / "self").symlink_to("1")
        own = root / ("1" if self.foreign else "self")
        (own / "ns").mkdir(parents=True)
        (root / "self" / "ns" / "pid").symlink_to(f"pid:[{self.namespace}]")
        (root / "meminfo").write_text(f"MemTotal:       {self.mem_total_kib} kB\n")
        for pid, parent in {TASK: 1, 1: 0, **self.parents}.items():
            (root / str(pid)).mkdir(exist_ok=True)
            rest = " ".join(["0"] * 48)
            (root / str(pid) / "stat").write_text(f"{pid} (a (b) c) S {parent} {rest}\n")


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
        gpus: str | None = None,
        host: Host | None = None,
        **variables: str,
    ) -> dict[str, Any]:
        """Replay a task that starts when the scenario is start_s old.

        Without a host, /proc is this one's, and the replaying process is the task.
        The result has the trace's `gpu` block, unless there is none, and what its `probe` block
        says of GPUs. The call log and the
        timeline stay for `calls` and `timeline`.
        """
        scenario_file = self.directory / "replay.txt"
        scenario_file.write_text(scenario)
        self.log.unlink(missing_ok=True)
        options = ["--duration", str(seconds), "--start", str(start_s)]
        options += ["--interval", str(interval_ms)]
        options += ["--timeline", str(self.directory / "timeline.json")]
        options += [] if gpus is None else ["--gpus", gpus]
        if host is not None:
            proc = Path(tempfile.mkdtemp(dir=self.directory))
            host.write(proc)
            options += ["--proc", str(proc), "--task", str(TASK)]
        files = {"NVMLMOCK_SCENARIO": str(scenario_file), "NVMLMOCK_LOG": str(self.log)}
        return self._result(options, files | variables)

    def _result(self, options: list[str], variables: Mapping[str, str]) -> dict[str, Any]:
        done = subprocess.run(
            [self.executable, "--library", self.library, *options],
            env={**os.environ, **variables},
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
