"""Records as tab-separated values: a header row, raw values, `-` for what is not known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.record import FIELDS, GPU_KEYS, NOT_AVAILABLE, TraceRecord
from collector.sinks.target import write_target

__all__ = ["TsvSink", "encode_tsv"]

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TsvSink:
    """Writes a TSV file, whole or not at all: the 44 fields, then twelve `gpu_` columns."""

    path: Path

    def write(self, records: Iterable[TraceRecord]) -> int:
        """Replace the file by a header and one row a record; return the number of records.

        Raises:
            SinkRejected: the file cannot be written.
        """
        columns = (*FIELDS, *(f"gpu_{key}" for key in GPU_KEYS))
        rows = [_row(record) for record in records]
        write_target(self.path, encode_tsv(columns, rows))
        return len(rows)


def encode_tsv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode rows under a header of `columns`; keys that are not columns are left out."""
    lines = ["\t".join(columns)]
    lines += ["\t".join(_cell(row.get(column)) for column in columns) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def _row(record: TraceRecord) -> dict[str, Any]:
    gpu = record.gpu_metrics or {}
    return {**record.to_dict(), **{f"gpu_{key}": gpu.get(key) for key in GPU_KEYS}}


def _cell(value: object) -> str:
    if value is None:
        return NOT_AVAILABLE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_cell(item) for item in value)
    return str(value).translate(_ESCAPES)
