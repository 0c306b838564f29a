"""Work directories: where they are, what is linked into them, what our own files in them say."""

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from collector.errors import ExecutorFailed
from collector.executors.base import Resources, Task
from collector.files import printable, write_atomic
from collector.record import FieldValue
from collector.trace import EXIT_FILE, TASK_FILE, TRACE_FILE, encode_task_file

__all__ = [
    "METADATA_NAMES",
    "Progress",
    "check_work_root",
    "new_work_directory",
    "populate",
    "run_digest",
    "task_digest",
    "write_task_file",
]

COMMAND_FILE = ".command.sh"
OUTPUT_FILE = ".command.out"
ERROR_FILE = ".command.err"

# The names in a work directory that are ours: never staged over, never emitted.
METADATA_NAMES = frozenset(
    {
        TASK_FILE.name,
        TRACE_FILE.parent.name,
        COMMAND_FILE,
        OUTPUT_FILE,
        ERROR_FILE,
        EXIT_FILE.name,
        ".command.trace",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is known of a task so far; times are ms since 1970, `hostname` is where it runs."""

    submit_ms: int
    hostname: str | None = None
    native_id: str | None = None
    start_ms: int | None = None
    complete_ms: int | None = None


def task_digest(argv: Sequence[str], *, salt: bytes, identity: Mapping[str, Any]) -> str:
    """Return 32 hexadecimal digits that name one execution.

    `salt` is random and new in each run, so that two runs of one command never meet.
    """
    stated = orjson.dumps(
        {"argv": [printable(word) for word in argv], **identity}, option=orjson.OPT_SORT_KEYS
    )
    return hashlib.sha256(salt + stated).hexdigest()[:32]


def run_digest(salt: bytes) -> str:
    """Return 12 hexadecimal digits that name one run: all the tasks that have this salt."""
    return hashlib.sha256(salt).hexdigest()[:12]


def check_work_root(root: Path) -> None:
    """Check, before any work is done, that work directories can be created below `root`.

    Raises:
        ExecutorFailed: it, or something above it, is not a directory or cannot be written.
    """
    absolute = root.absolute()
    above = next(path for path in (absolute, *absolute.parents) if os.path.lexists(path))
    if not above.is_dir():
        raise ExecutorFailed(f"--work-dir {root}: {above} is not a directory; name another place")
    if not os.access(above, os.W_OK | os.X_OK):
        raise ExecutorFailed(f"--work-dir {root}: {above} is not writable; name another place")


def new_work_directory(root: Path, digest: str) -> tuple[Path, str]:
    """Return the work directory of a digest below `root`, and its abbreviated hash.

    Nothing is created.
    """
    return root.absolute() / digest[:2] / digest[2:], f"{digest[:2]}/{digest[2:8]}"


def populate(task: Task) -> None:
    """Create a task's work directory with links to its inputs and its `.command.sh`.

    Raises:
        OSError: something cannot be created, or the directory exists already.
    """
    task.workdir.mkdir(parents=True)
    for item in task.inputs:
        link = task.workdir / item.target
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(item.source)
    (task.workdir / COMMAND_FILE).write_bytes(_command_script(task))


def write_task_file(task: Task, progress: Progress, *, executor: str, fusion: bool) -> None:
    """Write the task's `.task.json`.

    Raises:
        OSError: it cannot be written.
    """
    fields: dict[str, FieldValue] = {
        "task_id": task.task_id,
        "hash": task.hash,
        "native_id": progress.native_id,
        "process": printable(task.process),
        "name": printable(task.name),
        "tag": None if task.tag is None else printable(task.tag),
        "attempt": task.attempt,
        "submit": progress.submit_ms,
        "start": progress.start_ms,
        "complete": progress.complete_ms,
        "hostname": None if progress.hostname is None else printable(progress.hostname),
        "workdir": printable(task.workdir),
        "script": printable(shlex.join(task.argv)),
        **_requested(task.resources),
    }
    others = {"executor": executor, "repeat": task.repeat, "run": task.run, "fusion": fusion}
    write_atomic(task.workdir / TASK_FILE, encode_task_file(fields, others=others))


def _requested(resources: Resources) -> dict[str, FieldValue]:
    return {
        "cpus": resources.cpus,
        "memory": resources.memory_bytes,
        "disk": resources.disk_bytes,
        "time": resources.time_ms,
        "accelerator": resources.accelerator,
        "accelerator_type": resources.accelerator_type,
        "queue": resources.queue,
        "container": resources.container,
    }


def _command_script(task: Task) -> bytes:
    lines = ["#!/bin/sh"]
    if task.cwd is not None and task.cwd != task.workdir:
        lines.append(f"cd {shlex.quote(str(task.cwd))} || exit")
    lines.append(shlex.join(task.argv))
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
