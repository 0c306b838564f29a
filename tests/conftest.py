"""What tests of every kind share: markers by folder, and the built programs."""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from helpers.replay import Replay
from helpers.workloads import Workloads
from helpers.wrapper import Wrapper
from probe._executables import find_executable

TESTS = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("GPU_PROBE_BUILD", TESTS.parent / "build" / "dev"))
ENGINES = (
    "NXF_",
    "FUSION_",
    "TOWER_",
    "SLURM_",
    "PMI",
    "OMPI_",
    "PBS_",
    "LSB_",
    "NVMLMOCK_",
    "GPU_PROBE_NVML",
    "GPU_PROBE_GPUS",
    "GPU_PROBE_COPY_TO",
    "FAKE_CUDA_",
    "GPU_TRUTH_",
)
KINDS = ("unit", "integration", "contract", "gpu")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """The folder, not a decorator, says what kind a test is."""
    for item in items:
        kind = item.path.relative_to(TESTS).parts[0]
        if kind in KINDS:
            item.add_marker(kind)


@pytest.fixture(autouse=True, scope="session")
def signals_as_in_a_shell() -> None:
    """What runs in the background of a script ignores ^C and ^\\, and so would every child."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            plain = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, plain)


@pytest.fixture(autouse=True)
def no_engine_around(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A test starts as in a user's shell, also under an engine, a CI service or on a GPU host."""
    for name in list(os.environ):
        if name.startswith(ENGINES):
            monkeypatch.delenv(name)
    for name in (
        "CI",
        "RANK",
        "WORLD_SIZE",
        "CUDA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "GPU_DEVICE_ORDINAL",
        "NVIDIA_VISIBLE_DEVICES",
    ):
        monkeypatch.delenv(name, raising=False)
    # Where traces go that find no other place.
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="session")
def gpu_probe() -> Path:
    """The native wrapper: the installed one, or, say, one with sanitizers, named by GPU_PROBE."""
    named = os.environ.get("GPU_PROBE")
    path = Path(named) if named else find_executable("gpu-probe")
    assert path is not None, "gpu-probe is not installed: run make test"
    return path


@pytest.fixture(scope="session")
def mock_library() -> Path:
    """The built mock driver."""
    path = BUILD / "mock_nvml" / "libnvidia-ml.so.1"
    assert path.exists(), f"{path} is not built: run make mock"
    return path


@pytest.fixture
def replay(mock_library: Path, tmp_path: Path) -> Replay:
    """Whole tasks on the mock driver, in virtual time."""
    executable = BUILD / "gpu-replay"
    assert executable.exists(), f"{executable} is not built: run make mock"
    return Replay(executable=executable, library=mock_library, directory=tmp_path)


@pytest.fixture(scope="session")
def truth() -> Path:
    """The built loads of known truth."""
    path = BUILD / "truth"
    assert path.exists(), f"{path} is not built: run make mock"
    return path


@pytest.fixture
def workloads(tmp_path: Path) -> Workloads:
    """The GPU workloads, and the fake CUDA driver."""
    for path in (BUILD / "duty", BUILD / "vram_ramp", BUILD / "train"):
        assert path.exists(), f"{path} is not built: run make workloads"
    library = BUILD / "fake_cuda" / "libcuda.so.1"
    assert library.exists(), f"{library} is not built: run make mock"
    return Workloads(build=BUILD, library=library, leaks=tmp_path / "leaks")


@pytest.fixture
def wrapper(gpu_probe: Path, tmp_path: Path) -> Wrapper:
    """The native wrapper with a work directory; the host's own GPUs, if any."""
    directory = tmp_path / "work"
    directory.mkdir()
    return Wrapper(entry=[str(gpu_probe)], directory=directory)


@pytest.fixture(params=["gpu-probe", "python -m probe"])
def any_entry(request: pytest.FixtureRequest, wrapper: Wrapper) -> Wrapper:
    """Each way to start the wrapper."""
    if request.param == "gpu-probe":
        return wrapper
    return Wrapper(entry=[sys.executable, "-m", "probe"], directory=wrapper.directory)


@pytest.fixture
def gpu_wrapper(gpu_probe: Path, mock_library: Path, tmp_path: Path) -> Wrapper:
    """The native wrapper on the mock driver; a test writes its scenario with `scenario`."""
    directory = tmp_path / "gpu_work"
    directory.mkdir()
    environment = {
        "GPU_PROBE_NVML_LIBRARY": str(mock_library),
        "NVMLMOCK_SCENARIO": str(tmp_path / "scenario.txt"),
    }
    return Wrapper(entry=[str(gpu_probe)], directory=directory, environment=environment)


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], None]:
    """Write the scenario that gpu_wrapper's driver plays."""

    def write(text: str) -> None:
        (tmp_path / "scenario.txt").write_text(text)

    return write
