"""The first line of the summary, and the note in the trace, where there is no GPU to tell of."""

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
        assert headline == f"gpu-probe: GPU not measured: {note}"
        assert "  GPU     not measured" in others


def test_a_death_is_named_in_the_summary(wrapper: Wrapper) -> None:
    done = wrapper.run("sh", "-c", "kill -9 $$", options=["--summary"])
    assert "; the command was killed by SIGKILL\n" in done.stderr


def test_without_a_sign_of_a_gpu_none_was_visible(wrapper: Wrapper) -> None:
    if any(Path("/dev", node).exists() for node in ("nvidiactl", "nvidia-caps", "dxg")):
        pytest.skip("this host has a GPU")
    done = wrapper.run("true", options=["--summary"])
    assert done.stderr.startswith("gpu-probe: no GPU was visible\n")
