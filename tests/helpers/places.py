"""Places for traces that fail, and where a trace goes instead."""

import os
import subprocess
from pathlib import Path

import pytest

__all__ = ["fill", "mount", "rescued"]


def rescued(spare: Path) -> Path:
    (path,) = spare.glob(f"gpu-probe-{os.geteuid()}/*.trace.json")
    return path


def mount(*arguments: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mount: {done.stderr.strip()}")


def fill(directory: Path) -> None:
    with (directory / "full").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return
