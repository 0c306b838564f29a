"""What tests of every kind share: markers by folder, and the built programs."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from probe._executables import find_executable

TESTS = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("GPU_PROBE_BUILD", TESTS.parent / "build" / "dev"))
KINDS = ("unit", "integration", "contract", "gpu")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """The folder, not a decorator, says what kind a test is."""
    for item in items:
        kind = item.path.relative_to(TESTS).parts[0]
        if kind in KINDS:
            item.add_marker(kind)


@pytest.fixture(autouse=True)
def no_engine_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test starts as in a user's shell, also under an engine, a CI service or on a GPU host."""
    for name in list(os.environ):
        if name.startswith(("NXF_", "FUSION_", "TOWER_", "SLURM_", "NVMLMOCK_", "GPU_PROBE_NVML")):
            monkeypatch.delenv(name)
    for name in ("CI", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def gpu_probe() -> Path:
    """The installed native wrapper."""
    path = find_executable("gpu-probe")
    assert path is not None, "gpu-probe is not installed: run make test"
    return path


@pytest.fixture(scope="session")
def mock_library() -> Path:
    """The built mock driver."""
    path = BUILD / "mock_nvml" / "libnvidia-ml.so.1"
    assert path.exists(), f"{path} is not built: run make mock"
    return path
