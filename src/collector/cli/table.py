"""The result of a benchmark as people read it."""

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from collector.benchmark import Repeat
from collector.record import NOT_AVAILABLE, TraceRecord
from collector.units import format_binary

__all__ = ["render_table", "wants_color"]

_HEADER = (
    "repeat",
    "status",
    "exit",
    "wall",
    "CPU %",
    "peak RSS",
    "GPU busy % (mean / max)",
    "VRAM peak GiB of total",
    "task",
)
_STATUS_COLUMN = 1
_GREEN, _RED, _PLAIN = "\033[32m", "\033[31m", "\033[0m"
_MIB_PER_GIB = 1024


def render_table(repeats: Sequence[Repeat], *, color: bool) -> str:
    """Return the table of the repeats, with a last line where figures come from the mock driver."""
    rows = [_HEADER, *(_row(repeat) for repeat in repeats)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = []
    for index, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        if color and index > 0:
            paint = _GREEN if repeats[index - 1].succeeded else _RED
            cells[_STATUS_COLUMN] = f"{paint}{cells[_STATUS_COLUMN]}{_PLAIN}"
        lines.append("  ".join(cells).rstrip())
    if any((repeat.record.probe or {}).get("mock") is True for repeat in repeats):
        lines.append("The GPU figures come from the mock driver; no GPU was measured.")
    return "".join(f"{line}\n" for line in lines)


def wants_color(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Say whether to colour: on a terminal that can, unless `NO_COLOR` is set."""
    plain = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
    return not plain and stream.isatty()


def _row(repeat: Repeat) -> tuple[str, ...]:
    record = repeat.record
    return (
        str(repeat.index),
        record.fmt("status"),
        str(repeat.result.exit_status),
        record.fmt("realtime"),
        record.fmt("%cpu").removesuffix("%"),
        _memory(record["peak_rss"]),
        _gpu_busy(record),
        _vram_peak(record),
        record.fmt("hash"),
    )


def _memory(size_bytes: object) -> str:
    return format_binary(size_bytes) if isinstance(size_bytes, int) else NOT_AVAILABLE


def _gpu_busy(record: TraceRecord) -> str:
    mean, largest = _gpu_number(record, "pct"), _gpu_number(record, "peak")
    if mean is None or largest is None:
        return NOT_AVAILABLE
    return f"{mean:g} / {largest:g}"


def _vram_peak(record: TraceRecord) -> str:
    peak_mib, total_mib = _gpu_number(record, "peak_mem_used"), _gpu_number(record, "mem")
    if peak_mib is None or total_mib is None:
        return NOT_AVAILABLE
    return f"{peak_mib / _MIB_PER_GIB:.1f} of {total_mib / _MIB_PER_GIB:.1f}"


def _gpu_number(record: TraceRecord, key: str) -> float | None:
    value: Any = (record.gpu_metrics or {}).get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
