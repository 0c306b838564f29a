"""Putting gpu-probe before a command. Where there is no gpu-probe, the command runs bare."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["WRAPPER_VARIABLE", "find_wrapper", "why_not_wrapped", "wrap_command"]

WRAPPER_VARIABLE = "GPU_PROBE"
_WRAPPER_NAME = "gpu-probe"


def find_wrapper(environment: Mapping[str, str]) -> Path | None:
    """Find the gpu-probe executable; `None` where there is none.

    `GPU_PROBE` decides alone when it is set. Otherwise the executable is looked for beside the
    Python interpreter, in the directory of installed scripts, beside the running program (of a link
    also beside what it leads to), and on `PATH`.
    """
    named = environment.get(WRAPPER_VARIABLE)
    if named:
        return _executable(Path(named))
    for directory in _own_directories():
        found = _executable(directory / _WRAPPER_NAME)
        if found is not None:
            return found
    on_path = shutil.which(_WRAPPER_NAME, path=environment.get("PATH"))
    return None if on_path is None else Path(on_path).absolute()


def why_not_wrapped(environment: Mapping[str, str]) -> str:
    """Say why `find_wrapper` finds nothing in this environment, and what to do where that helps."""
    named = environment.get(WRAPPER_VARIABLE)
    if named:
        return f"{WRAPPER_VARIABLE}={named} is not an executable file"
    places = ", ".join(str(directory) for directory in dict.fromkeys(_own_directories()))
    return (
        f"{_WRAPPER_NAME} is neither in {places} nor on PATH"
        f" (pip install gpu-probe, or set {WRAPPER_VARIABLE}=/path/to/{_WRAPPER_NAME})"
    )


def wrap_command(argv: Sequence[str], *, wrapper: Path | None, workdir: Path) -> list[str]:
    """Return the command under gpu-probe, its trace and timeline in `workdir`.

    Without a wrapper it is the bare command.
    """
    if wrapper is None:
        return list(argv)
    return [str(wrapper), "--workdir", str(workdir), "--timeline", "--", *argv]


def _own_directories() -> tuple[Path, ...]:
    python = Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))
    started_as = sys.argv[0] if sys.argv else ""
    if not os.path.dirname(started_as):  # noqa: PTH120 - `python -c`: no path
        return python
    # An installation of the user's has its scripts elsewhere, and there may be a link to them.
    return (*python, Path(started_as).absolute().parent, Path(os.path.realpath(started_as)).parent)


def _executable(path: Path) -> Path | None:
    return path.absolute() if path.is_file() and os.access(path, os.X_OK) else None
