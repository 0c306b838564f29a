"""`.task.json`: the identity of a work directory, written by executors and read by anyone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from collector.errors import TaskMalformed
from collector.files import StrPath, read_bounded
from collector.record import FIELDS, FieldValue

__all__ = ["TASK_FILE", "TaskFile", "encode_task_file", "read_task_file"]

TASK_FILE = Path(".task.json")
_SCHEMA = 1

# The record fields that identity is made of: no measured field, and not the status.
_IDENTITY = (
    "task_id",
    "hash",
    "native_id",
    "process",
    "module",
    "container",
    "tag",
    "name",
    "submit",
    "start",
    "complete",
    "attempt",
    "workdir",
    "script",
    "scratch",
    "queue",
    "cpus",
    "memory",
    "disk",
    "time",
    "env",
    "error_action",
    "hostname",
    "accelerator",
    "accelerator_type",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """What a `.task.json` says: record fields, and what is not a field.

    `problems` says, one sentence each, which keys could not be used.
    """

    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    fusion: bool | None = None
    problems: tuple[str, ...] = ()


def read_task_file(path: StrPath) -> TaskFile | None:
    """Read a `.task.json`; `None` where there is none.

    Raises:
        TaskMalformed: the file cannot be read or is not a JSON object.
    """
    try:
        root = orjson.loads(read_bounded(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TaskMalformed(f"{path}: cannot be read: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise TaskMalformed(f"{path}: not valid JSON: {error}; the task has no identity") from error
    if not isinstance(root, dict):
        raise TaskMalformed(
            f"{path}: holds a {type(root).__name__}, not an object; the task has no identity"
        )
    return _task_file(root, path)


def encode_task_file(fields: Mapping[str, FieldValue], *, others: Mapping[str, Any]) -> bytes:
    """Encode record fields and other keys; unknown (`None`) ones are left out, except `tag`."""
    stated = {"schema": _SCHEMA, **fields, **others}
    known = {key: value for key, value in stated.items() if value is not None or key == "tag"}
    return orjson.dumps(known, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _task_file(root: Mapping[str, Any], path: StrPath) -> TaskFile:
    fields: dict[str, FieldValue] = {}
    problems = []
    for name in _IDENTITY:
        value = root.get(name)
        if value is None:
            continue
        if _fits(name, value):
            fields[name] = str(value) if FIELDS[name] == "str" else value
        else:
            problems.append(
                f"{path}: {name} is {value!r:.60}, which that key cannot be; it is ignored"
            )
    fusion = root.get("fusion")
    return TaskFile(
        fields=fields,
        fusion=fusion if isinstance(fusion, bool) else None,
        problems=tuple(problems),
    )


def _fits(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return False
    if FIELDS[name] == "str":
        return isinstance(value, str | int)
    return isinstance(value, int) and value >= 0
