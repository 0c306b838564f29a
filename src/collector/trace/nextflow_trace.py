"""Reader of Nextflow's `trace.txt`: which tasks a run had, by hash."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from collector.errors import TraceMalformed
from collector.record import FIELDS, NOT_AVAILABLE, FieldType, FieldValue
from collector.units import parse_duration, parse_memory, parse_percent

__all__ = ["NextflowTrace", "process_of", "read_nextflow_trace"]

_DATE_FORMAT = "%Y-%m-%d %H:%M:%S.%f"


class NextflowTrace:
    """The rows of a `trace.txt`, by hash; a row is read when it is asked for.

    Of several rows with one hash, as of a run that was resumed into the same file, the last counts.
    """

    def __init__(self, columns: list[str], rows: Mapping[str, str]) -> None:
        self._columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, task_hash: object) -> bool:
        return task_hash in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def fields_of(self, task_hash: str) -> dict[str, FieldValue]:
        """Return the record fields of a task, without those that are unknown; `{}` for no task."""
        row = self._rows.get(task_hash)
        if row is None:
            return {}
        pairs = zip(self._columns, row.split("\t"), strict=False)
        fields = {name: _value(name, text) for name, text in pairs if name in FIELDS}
        if fields.get("process") is None:
            fields["process"] = process_of(fields.get("name"))
        return {name: value for name, value in fields.items() if value is not None}


def read_nextflow_trace(path: Path) -> NextflowTrace:
    """Read a `trace.txt`, with formatted or raw values. Dates are taken to be local ones.

    Raises:
        TraceMalformed: the file cannot be read, or has no column `hash`.
    """
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            columns = file.readline().rstrip("\r\n").split("\t")
            if "hash" not in columns:
                raise TraceMalformed(
                    f"{path}: no column hash in its first line; tasks are found by it, so name it"
                    " among trace.fields"
                )
            place = columns.index("hash")
            rows = {}
            for line in file:
                row = line.rstrip("\r\n")
                cells = row.split("\t", place + 1)
                # A line that is being written may be cut off.
                if line.endswith("\n") and len(cells) > place:
                    rows[cells[place]] = row
    except OSError as error:
        raise TraceMalformed(f"{path}: cannot be read: {error.strerror or error}") from error
    return NextflowTrace(columns, rows)


def _value(name: str, text: str) -> FieldValue:
    if text in ("", NOT_AVAILABLE):
        return None
    try:
        return int(text) if name == "exit" else _PARSERS[FIELDS[name]](text)
    except (ValueError, OverflowError):
        return None


def process_of(name: FieldValue) -> str | None:
    """Take the process from a name such as `ALIGN (sample1)`."""
    return name.partition(" (")[0] if isinstance(name, str) else None


def _date(text: str) -> FieldValue:
    if text.isdecimal():
        return int(text) or None
    moment = datetime.strptime(text, _DATE_FORMAT).astimezone()
    return round(moment.timestamp() * 1000)


def _amount(parse: Callable[[str], int]) -> Callable[[str], FieldValue]:
    return lambda text: int(text) if text.isdecimal() else parse(text)


_PARSERS: Mapping[FieldType, Callable[[str], FieldValue]] = MappingProxyType(
    {
        "str": str,
        "num": int,
        "date": _date,
        "time": _amount(parse_duration),
        "mem": _amount(parse_memory),
        "perc": parse_percent,
    }
)
