"""Records as JSON lines: the 44 fields, then `gpu_metrics` whole and untouched."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from collector.record import TraceRecord
from collector.sinks.target import write_target

__all__ = ["JsonlSink", "encode_jsonl", "record_row"]


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
    """Encode one JSON object a line."""
    return b"".join(orjson.dumps(dict(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)
