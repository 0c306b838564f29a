"""Reader of `.fusion/trace.json`: plain mappings, no schema, so that unknown keys survive."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from collector.errors import TraceMalformed, TraceNotFound
from collector.files import StrPath, read_bounded
from collector.trace.numbers import counter

__all__ = ["BESIDE_FILE", "TRACE_FILE", "Trace", "parse_trace", "read_trace"]

TRACE_FILE = Path(".fusion") / "trace.json"
# Ours, where the file above is another program's.
BESIDE_FILE = TRACE_FILE.with_name("gpu-probe.json")

# The encoder of the sinks refuses values that nest deeper than 254.
_NESTING_LIMIT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The blocks of one trace file, as parsed; a block that is absent, null or empty is `None`.

    `problems` says, one sentence each, which blocks could not be used.
    """

    gpu: Mapping[str, Any] | None = None
    proc: Mapping[str, Any] | None = None
    cgroup: Mapping[str, Any] | None = None
    probe: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()

    def text(self, key: str) -> str | None:
        """Return a string of the probe block."""
        value = (self.probe or {}).get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        """Return an integer of the probe block."""
        return counter((self.probe or {}).get(key))

    @property
    def job_id(self) -> str | None:
        """Return the id of the batch job, as Slurm writes it: `4711`, or `4711_3` in an array."""
        job, element = self.text("job"), self.text("array")
        return job if job is None or element is None else f"{job}_{element}"

    @property
    def unavailable(self) -> frozenset[str]:
        """Dotted keys that stand as 0 only because they could not be measured."""
        listed = (self.probe or {}).get("unavailable")
        return (
            frozenset(key for key in listed if isinstance(key, str))
            if isinstance(listed, list)
            else frozenset()
        )

    @property
    def cgroup_is_shared(self) -> bool:
        """Whether the trace says that its control group holds more than the task."""
        scope = (self.probe or {}).get("scope")
        return isinstance(scope, dict) and scope.get("cgroup") == "shared"


def read_trace(path: StrPath) -> Trace:
    """Read a trace file.

    Raises:
        TraceNotFound: there is no file.
        TraceMalformed: the file cannot be read, or is not a JSON object of sane size.
    """
    try:
        data = read_bounded(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TraceNotFound(
            f"{path}: no trace; the task was not wrapped by gpu-probe, or never started"
        ) from error
    except OSError as error:
        raise TraceMalformed(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse_trace(data, source=path)


def parse_trace(data: bytes, *, source: StrPath) -> Trace:
    """Parse the bytes of a trace file; `source` is named in errors.

    A block of the wrong type costs only that block.

    Raises:
        TraceMalformed: the bytes are not one JSON object, or it nests too deep.
    """
    try:
        root = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise TraceMalformed(f"{source}: not valid JSON: {error}; the trace is skipped") from error
    if not isinstance(root, dict):
        raise TraceMalformed(
            f"{source}: holds a {type(root).__name__}, not an object; the trace is skipped"
        )
    # Counting brackets is quick, and few of them cannot nest deep.
    brackets = data.count(b"{") + data.count(b"[")
    if brackets > _NESTING_LIMIT and _nests_deeper_than(root, _NESTING_LIMIT):
        raise TraceMalformed(f"{source}: nests deeper than {_NESTING_LIMIT}; the trace is skipped")
    problems: list[str] = []
    return Trace(
        gpu=_block(root, "gpu", source, problems),
        proc=_block(root, "proc", source, problems),
        cgroup=_block(root, "cgroup", source, problems),
        probe=_block(root, "probe", source, problems),
        problems=tuple(problems),
    )


def _block(
    root: Mapping[str, Any], name: str, source: StrPath, problems: list[str]
) -> Mapping[str, Any] | None:
    block = root.get(name)
    if isinstance(block, dict):
        return block or None
    if block is not None:
        problems.append(
            f"{source}: {name} is a {type(block).__name__}, not an object; it is ignored"
        )
    return None


def _nests_deeper_than(root: Mapping[str, Any], limit: int) -> bool:
    level: list[Any] = [root]
    for _ in range(limit):
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
