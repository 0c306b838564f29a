"""What the summary says where there is no GPU to tell of, or not all of it could be read."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper


def library_of(kind: str, directory: Path) -> str:
    """A library that cannot be loaded."""
    path = directory / "libnvidia-ml.so.1"
    if kind == "directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("no library\n")
    return str(path)


@pytest.mark.parametrize("kind", ["missing", "directory", "text"])
def test_a_library_that_cannot_be_loaded_is_named_after_any_task(
    wrapper: Wrapper, tmp_path: Path, kind: str
) -> None:
    library = library_of(kind, tmp_path)
    for command in (["true"], ["sleep", "0.3"]):
        done = wrapper.run(*command, options=["--summary"], GPU_PROBE_NVML_LIBRARY=library)
        (note,) = (n for n in wrapper.trace()["probe"]["notes"] if "library" in n)
        assert library in note
        headline, *others = done.stderr.splitlines()
        assert headline == f"gpu-probe: GPU not measured: {note}; see gpu-probe --check"
        assert "  GPU     not measured" in others


def test_a_death_is_named_in_the_summary(wrapper: Wrapper) -> None:
    done = wrapper.run("sh", "-c", "kill -9 $$", options=["--summary"])
    assert "; the command was killed by SIGKILL\n" in done.stderr


def test_without_a_sign_of_a_gpu_none_was_visible(wrapper: Wrapper) -> None:
    if any(Path("/dev", node).exists() for node in ("nvidiactl", "nvidia-caps", "dxg")):
        pytest.skip("this host has a GPU")
    done = wrapper.run("true", options=["--summary"])
    assert done.stderr.startswith("gpu-probe: no GPU was visible\n")


def test_devices_that_were_not_chosen_are_not_called_invisible(
    gpu_wrapper: Wrapper, scenario: Callable[[str], None]
) -> None:
    scenario("device 0\ndevice 1\n")
    done = gpu_wrapper.run("sleep", "0.3", options=["--summary", "--gpus", "5"])
    (note,) = (n for n in gpu_wrapper.trace()["probe"]["notes"] if "--gpus" in n)
    assert done.stderr.startswith(f"gpu-probe: no GPU was measured: {note} [mock")
    assert "  GPU     none" in done.stderr.splitlines()


def test_a_lost_device_is_named_and_its_energy_is_not_that_of_all(
    gpu_wrapper: Wrapper, scenario: Callable[[str], None]
) -> None:
    scenario(
        "device 0\ndevice 1\nseries 0 util 0 80\nseries 1 util 0 60\nseries 0 power 0 90\n"
        "series 1 power 0 90\nlost 1 t=60.5\n"
    )
    at = str(time.monotonic_ns() - 60 * 10**9)
    done = gpu_wrapper.run("sleep", "3", options=["--summary"], NVMLMOCK_T0=at)
    headline, *others = done.stderr.splitlines()
    (lost,) = (d for d in gpu_wrapper.trace()["gpu"]["devices"] if "lost_at_ms" in d)
    ms = lost["lost_at_ms"]
    told = f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
    assert f"; GPU 1 stopped answering at {told}" in headline
    assert "GPU busy" not in headline or "while observed" in headline
    assert "of that" not in headline
    (energy,) = (line for line in others if line.startswith("  energy"))
    assert " J (1 of 2 devices)" in energy


def test_a_doubtful_choice_is_told(gpu_wrapper: Wrapper, scenario: Callable[[str], None]) -> None:
    scenario("device 0 gpm=1\nmig 0 0\nmig 0 2\nseries 0.0 util 0 60\nseries 0.2 util 0 30\n")
    done = gpu_wrapper.run("sleep", "0.5", options=["--summary"])
    (line,) = (n for n in done.stderr.splitlines() if n.startswith("  GPU"))
    assert line.endswith("2 instances counted, the task may use one; --gpus chooses")
