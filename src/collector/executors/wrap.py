"""Putting gpu-probe before a command. Where there is no gpu-probe, the command runs bare."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["WRAPPER_VARIABLE", "find_wrapper", "wrap_command"]

WRAPPER_VARIABLE = "GPU_PROBE"
_WRAPPER_NAME = "gpu-probe"


def find_wrapper(environment: Mapping[str, str]) -> Path | None:
    """Find the gpu-probe executable; `None` where there is none.

    `GPU_PROBE` decides alone when it is set. Otherwise the executable is looked for beside the
    Python interpreter, in the directory of installed scripts, and on `PATH`.
    """
    named = environment.get(WRAPPER_VARIABLE)
    if named:
        return _executable(Path(named))
    for directory in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        found = _executable(directory / _WRAPPER_NAME)
        if found is not None:
            return found
    on_path = shutil.which(_WRAPPER_NAME, path=environment.get("PATH"))
    return None if on_path is None else Path(on_path).absolute()


def wrap_command(argv: Sequence[str], *, wrapper: Path | None, workdir: Path) -> list[str]:
    """Return the command under gpu-probe, its trace and timeline in `workdir`.

    Without a wrapper it is the bare command.
    """
    if wrapper is None:
        return list(argv)
    return [str(wrapper), "--workdir", str(workdir), "--timeline", "--", *argv]


def _executable(path: Path) -> Path | None:
    return path.absolute() if path.is_file() and os.access(path, os.X_OK) else None
