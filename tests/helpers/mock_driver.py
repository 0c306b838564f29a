"""Running pynvml, in a process of its own, on the mock driver with a scenario."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["PRELUDE", "Mock"]

PRELUDE = """
import json
import pynvml as nv

def error(call, *args):
    try:
        return call(*args)
    except nv.NVMLError as problem:
        return type(problem).__name__

nv.nvmlInit()
if nv.nvmlDeviceGetCount():
    gpu = nv.nvmlDeviceGetHandleByIndex(0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mock:
    """The built library and a place for scenarios."""

    library: Path
    directory: Path

    def environment(self, scenario: str | None, at_s: float | None) -> dict[str, str]:
        """Give the environment in which a scenario is at_s seconds old (None: begins at init)."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith("NVMLMOCK_")}
        variables["LD_LIBRARY_PATH"] = str(self.library.parent)
        if scenario is not None:
            path = self.directory / "scenario.txt"
            path.write_text(scenario)
            variables["NVMLMOCK_SCENARIO"] = str(path)
        if at_s is not None:
            variables["NVMLMOCK_T0"] = str(time.monotonic_ns() - round(at_s * 1e9))
        return variables

    def run(
        self, code: str, scenario: str | None = None, *, at_s: float | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            env=self.environment(scenario, at_s) | extra,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def ask(
        self, expression: str, scenario: str | None = None, *, at_s: float | None = None
    ) -> Any:  # noqa: ANN401 - what json.loads gives
        """Evaluate an expression of pynvml calls (module nv, device gpu) in a fresh process."""
        code = f"{PRELUDE}\nprint(json.dumps({expression}))"
        done = self.run(code, scenario, at_s=at_s)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)
