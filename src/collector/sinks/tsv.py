"""Records as tab-separated values: raw ones of all fields, or those of Nextflow's `trace.txt`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.record import FIELDS, GPU_KEYS, NOT_AVAILABLE, TraceRecord
from collector.sinks.ordered import OrderedLines
from collector.sinks.target import write_target
from collector.sinks.tsv_columns import Column

__all__ = ["TsvSink", "encode_tsv"]

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ALL = (*FIELDS, *(f"gpu_{key}" for key in GPU_KEYS))


@dataclass(frozen=True, slots=True, kw_only=True)
class TsvSink:
    """Writes a TSV file, whole or not at all.

    Without `columns` it has raw values: the 44 fields, then twelve `gpu_` columns.
    """

    path: Path
    columns: Sequence[Column] | None = None

    def write(self, records: Iterable[TraceRecord]) -> int:
        """Replace the file by a header and one row a record; return the number of records.

        Raises:
            SinkRejected: the file cannot be written.
        """
        header = _ALL if self.columns is None else [column.title for column in self.columns]
        with OrderedLines() as lines:
            for record in records:
                lines.add(record, self._line(record))
            write_target(self.path, _chain(_joined(header), lines))
            return len(lines)

    def _line(self, record: TraceRecord) -> bytes:
        if self.columns is None:
            row = _row(record)
            return _joined(_cell(row.get(name)) for name in _ALL)
        return _joined(_cell(column.write(record)) for column in self.columns)


def encode_tsv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode rows under a header of `columns`; keys that are not columns are left out."""
    lines = [_joined(columns)]
    lines += [_joined(_cell(row.get(column)) for column in columns) for row in rows]
    return b"".join(lines)


def _joined(cells: Iterable[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()


def _chain(header: bytes, lines: Iterable[bytes]) -> Iterable[bytes]:
    yield header
    yield from lines


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
