"""Running the GPU workloads on the fake CUDA driver."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Workloads", "last_line"]


def last_line(text: str) -> dict[str, Any]:
    """Read the line of JSON that a workload ends with."""
    truth = json.loads(text.splitlines()[-1])
    assert isinstance(truth, dict)
    return truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Workloads:
    """The built programs, the library, and a file for what a run has not given back."""

    build: Path
    library: Path
    leaks: Path

    def environment(self, **variables: str) -> dict[str, str]:
        fake = {"LD_LIBRARY_PATH": str(self.library.parent), "FAKE_CUDA_LEAKS": str(self.leaks)}
        return os.environ | fake | variables

    def run(
        self, program: str, *options: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a workload on the fake driver; FAKE_CUDA_* say what the driver does."""
        return subprocess.run(
            [str(self.build / program), *options],
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def given_back(self) -> bool:
        return self.leaks.read_text() == "contexts 0 modules 0 events 0\n"
