"""Running `gpu-bench` and reading what it wrote."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["GPU_BENCH", "TIMEOUT_S", "Bench", "counting", "rows_of", "runs", "work_directories"]

GPU_BENCH = (sys.executable, "-c", "import sys; from collector.cli import main; sys.exit(main())")
TIMEOUT_S = 60

Bench: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


def counting(launch: Path, script: str) -> list[str]:
    """Return a shell command in which `$n` is the number of its execution, from 1."""
    log = launch.parent / "executions"
    return ["sh", "-c", f"echo >> {log}; n=$(wc -l < {log}); {script}"]


def rows_of(file: Path) -> list[dict[str, Any]]:
    with file.open() as lines:
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in lines]
        return list(csv.DictReader(lines, delimiter="\t"))


def work_directories(launch: Path) -> list[Path]:
    return sorted((launch / "work").glob("??/*"))


def runs(pid: int) -> bool:
    """Say whether a process runs; a zombie whose parent is slow does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
