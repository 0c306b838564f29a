"""Records as JSON lines: the 44 fields, then `gpu_metrics` whole and untouched."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from collector.record import TraceRecord
from collector.sinks.target import write_target

__all__ = ["JsonlSink", "encode_jsonl", "record_row"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonlSink:
    """Writes a JSON lines file, whole or not at all."""

    path: Path

    def write(self, records: Iterable[TraceRecord]) -> int:
        """Replace the file by one line a record and return their number.

        Raises:
            SinkRejected: the file cannot be written.
        """
        rows = [record_row(record) for record in records]
        write_target(self.path, encode_jsonl(rows))
        return len(rows)


def record_row(record: TraceRecord) -> dict[str, Any]:
    """Return the JSON object of one record."""
    return {**record.to_dict(), "gpu_metrics": record.gpu_metrics}


def encode_jsonl(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode one JSON object a line; a value that JSON cannot hold becomes null, with a warning."""
    return b"".join(_encode(dict(row)) + b"\n" for row in rows)


def _encode(row: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(row)
    except orjson.JSONEncodeError as error:
        held = {key: value for key, value in row.items() if _can_be_held(value)}
        lost = ", ".join(key for key in row if key not in held)
        _LOG.warning("%s: %s cannot be written: %s", row.get("workdir"), lost, error)
        return orjson.dumps({key: held.get(key) for key in row})


def _can_be_held(value: object) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True
