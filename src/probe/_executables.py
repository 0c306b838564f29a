"""Find the native programs that were installed with this package."""

import importlib.metadata
import os
import shutil
import sysconfig
from pathlib import Path

__all__ = ["find_executable"]


def _recorded(name: str) -> Path | None:
    """Look into the installer's own list of files: right for every kind of installation."""
    try:
        files = importlib.metadata.files("gpu-probe") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    return None


def find_executable(name: str) -> Path | None:
    """Return the path of ``gpu-probe`` or ``gpu-probe-nvml``; None where it is not installed."""
    candidates = [_recorded(name), Path(sysconfig.get_path("scripts")) / name]
    on_path = shutil.which(name)
    if on_path is not None:
        candidates.append(Path(on_path))
    for candidate in candidates:
        if candidate is not None and os.access(candidate, os.X_OK):
            return candidate.resolve()
    return None
