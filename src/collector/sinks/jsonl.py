"""Records as JSON lines: the 44 fields, then `gpu_metrics` whole and untouched."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from collector.record import TraceRecord
from collector.sinks.ordered import OrderedLines
from collector.sinks.target import write_target

__all__ = ["JsonlSink", "encode_jsonl", "ordered_jsonl", "record_row"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonlSink:
    """Writes a JSON lines file, whole or not at all."""

    path: Path

    def write(self, records: Iterable[TraceRecord]) -> int:
        """Replace the file by one line a record, in their order, and return their number.

        Raises:
            SinkRejected: the file cannot be written.
        """
        with ordered_jsonl(records) as lines:
            write_target(self.path, lines)
            return len(lines)


def ordered_jsonl(records: Iterable[TraceRecord]) -> OrderedLines:
    """Encode records, which may come in any order, as lines in theirs."""
    lines = OrderedLines()
    for record in records:
        lines.add(record, _encode(record_row(record)))
    return lines


def record_row(record: TraceRecord) -> dict[str, Any]:
    """Return the JSON object of one record."""
    row: dict[str, Any] = record.to_dict()
    row["gpu_metrics"] = record.gpu_metrics
    return row


def encode_jsonl(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode one JSON object a line; a value that JSON cannot hold becomes null, with a warning."""
    return b"".join(_encode(dict(row)) for row in rows)


def _encode(row: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as error:
        held = {key: value for key, value in row.items() if _can_be_held(value)}
        lost = ", ".join(key for key in row if key not in held)
        _LOG.warning("%s: %s cannot be written: %s", row.get("workdir"), lost, error)
        nulled = {key: held.get(key) for key in row}
        return orjson.dumps(nulled, option=orjson.OPT_APPEND_NEWLINE)


def _can_be_held(value: object) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True
