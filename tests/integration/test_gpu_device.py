"""gpu-probe on a real NVIDIA device, against loads whose truth is known; skipped elsewhere.

The device must be idle otherwise. `benchmarks/gpu_truth.sh` checks more, and writes it down.
"""

import os
import subprocess
from pathlib import Path

import pytest

from gpu_rows import Check
from gpu_stages import STAGES, Place

BUILD = Path(os.environ.get("GPU_PROBE_BUILD", Path(__file__).parents[2] / "build" / "dev"))
NODES = ("nvidiactl", "nvidia-caps", "dxg")

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def place(gpu_probe: Path) -> Place:
    """The programs, on a host whose driver runs a kernel; skips elsewhere, and says why."""
    if not any(Path("/dev", node).exists() for node in NODES):
        pytest.skip("no NVIDIA device node below /dev")
    duty = BUILD / "duty"
    assert duty.exists(), f"{duty} is not built: run make workloads"
    words = ["--device", "gpu", "--busy-ms", "1", "--idle-ms", "0", "--cycles", "1"]
    done = subprocess.run([duty, *words], capture_output=True, text=True, check=False)
    if done.returncode == 69:
        pytest.skip(f"no CUDA device: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return Place(gpu_probe=gpu_probe, build=BUILD, seconds=10)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "train"])
def test_what_the_trace_says_of_the_device_is_true(place: Place, stage: str) -> None:
    rows = list(STAGES[stage](place))
    missed = [row for row in rows if not (isinstance(row, Check) and row.ok)]
    assert missed == []


def test_the_wrapper_does_not_slow_a_training_step(place: Place) -> None:
    [slower] = [
        row
        for row in STAGES["train"](place)
        if isinstance(row, Check) and (row.stage, row.figure) == ("train", "step slower by")
    ]
    assert slower.ok, slower
