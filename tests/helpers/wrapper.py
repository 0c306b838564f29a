"""Running the native wrapper and reading what it wrote."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Wrapper", "ends", "read_trace"]


def read_trace(directory: Path) -> dict[str, Any]:
    """Read the trace below a work directory."""
    trace = json.loads((directory / ".fusion" / "trace.json").read_bytes())
    assert isinstance(trace, dict)
    return trace


def ends(pidfd: int) -> bool:
    """Wait until a process has ended, ten seconds at most, and close its descriptor."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    ended = bool(poller.poll(10_000))
    os.close(pidfd)
    return ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """A way to call gpu-probe, in a work directory of its own."""

    entry: Sequence[str]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, *command: str, options: Sequence[str] = ()) -> list[str]:
        return [*self.entry, "--workdir", str(self.directory), *options, "--", *command]

    def run(
        self,
        *command: str,
        options: Sequence[str] = (),
        input: str | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*command, options=options),
            env=os.environ | self.environment | variables,
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(
        self, *command: str, options: Sequence[str] = (), **variables: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*command, options=options),
            env=os.environ | self.environment | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_trace(self) -> None:
        """Wait until the first trace is there, which is right after the command was executed."""
        deadline = time.monotonic() + 10
        while not (self.directory / ".fusion" / "trace.json").exists():
            assert time.monotonic() < deadline, "no trace within ten seconds"
            os.sched_yield()

    def trace(self) -> dict[str, Any]:
        return read_trace(self.directory)
