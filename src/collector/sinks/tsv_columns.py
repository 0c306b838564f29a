"""Columns that a user chooses for a TSV file, as Nextflow's `trace.fields` names them."""

from collections.abc import Callable
from typing import NamedTuple

from collector.errors import FormatUnknown
from collector.record import (
    FIELDS,
    GPU_KEYS,
    NOT_AVAILABLE,
    TraceRecord,
    parse_converter,
    raw_converter,
)

__all__ = ["TRACE_COLUMNS", "Column", "parse_columns"]

# The columns of a `trace.txt` for which nothing else was asked.
TRACE_COLUMNS = (
    "task_id",
    "hash",
    "native_id",
    "name",
    "status",
    "exit",
    "submit",
    "duration",
    "realtime",
    "%cpu",
    "peak_rss",
    "peak_vmem",
    "rchar",
    "wchar",
)
_GPU_COLUMNS = tuple(f"gpu_{key}" for key in GPU_KEYS)
_GROUPS = {"trace.txt": TRACE_COLUMNS, "all": tuple(FIELDS), "gpu": _GPU_COLUMNS}


class Column(NamedTuple):
    """A column: its title, and what it writes of a record."""

    title: str
    write: Callable[[TraceRecord], str]


def parse_columns(text: str, *, raw: bool) -> list[Column]:
    """Read a list such as `trace.txt,rss:num,gpu`: fields, with or without a converter, and groups.

    The groups are `trace.txt` (Nextflow's default columns), `all` (the 44 fields) and `gpu`. With
    `raw`, dates, times, percentages and memory are numbers, as in Nextflow's raw mode.

    Raises:
        FormatUnknown: there is no such field, group or converter.
    """
    columns = []
    for word in (word.strip() for word in text.split(",")):
        columns += [_column(name, raw=raw) for name in _GROUPS.get(word, (word,))]
    return columns


def _column(word: str, *, raw: bool) -> Column:
    name, colon, converter = word.partition(":")
    if name in _GPU_COLUMNS and not colon:
        key = name.removeprefix("gpu_")
        return Column(name, lambda record: _gpu_cell(record, key))
    if name not in FIELDS:
        raise FormatUnknown(f"{name!r} is no field{_nearest(name)}")
    if colon:
        convert = parse_converter(converter)
        return Column(name, lambda record: convert(record[name]))
    if raw:
        plain = raw_converter(FIELDS[name])
        return Column(name, lambda record: plain(record[name]))
    return Column(name, lambda record: record.fmt(name))


def _gpu_cell(record: TraceRecord, key: str) -> str:
    value = (record.gpu_metrics or {}).get(key)
    return NOT_AVAILABLE if value is None else str(value)


def _nearest(name: str) -> str:
    import difflib  # noqa: PLC0415 - only a mistake needs it

    near = difflib.get_close_matches(name, [*FIELDS, *_GPU_COLUMNS, *_GROUPS], n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
