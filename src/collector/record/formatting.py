"""Field values as Nextflow writes them in `trace.txt`: one formatter per field type."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from types import MappingProxyType
from typing import TypeAlias, cast

from collector.errors import FormatUnknown
from collector.record.fields import FieldType, FieldValue
from collector.units import format_duration, format_memory, format_percent

__all__ = ["NOT_AVAILABLE", "Converter", "format_value", "parse_converter", "raw_converter"]

NOT_AVAILABLE = "-"
Converter: TypeAlias = Callable[[FieldValue], str]

_UNSET_EXIT = 2_147_483_647  # Nextflow's exit status of a task that has none
_LONG = re.compile(r"\s*[+-]?\d{1,19}\s*", re.ASCII)
_INT64_LIMIT = 2**63
_RAW = frozenset({"date", "time", "perc", "mem"})  # the types that raw mode writes as `num`

# Letters of Java's date patterns, as `strftime` has them; ms are a case of their own.
_DATE_PARTS = {
    **{"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d"},
    **{"HH": "%H", "mm": "%M", "ss": "%S", "SSS": "\x01"},
}
_DATE_TOKEN = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']", re.ASCII)
_DEFAULT_DATE = "yyyy-MM-dd HH:mm:ss.SSS"


def format_value(field_type: FieldType, value: FieldValue) -> str:
    """Write one value by its type; `-` where there is none or it cannot be written.

    Dates are in UTC.
    """
    return _guarded(_FORMATTERS[field_type])(value)


def parse_converter(text: str) -> Converter:
    """Return the formatter that `type` or `date:pattern` names, such as `mem` or `date:yyyy-MM-dd`.

    Raises:
        FormatUnknown: there is no such type, or the pattern has letters that are not supported.
    """
    name, colon, pattern = text.partition(":")
    if name not in _FORMATTERS or (colon and name != "date"):
        known = ", ".join(_FORMATTERS)
        raise FormatUnknown(f"{text!r} is no format; name one of {known}, or date:PATTERN")
    if colon:
        layout = _layout(pattern)
        return _guarded(lambda value: _written_date(value, layout))
    return _guarded(_FORMATTERS[cast("FieldType", name)])


def raw_converter(field_type: FieldType) -> Converter:
    """Return the formatter of Nextflow's raw mode: dates, times, percentages and memory as numbers.

    As upstream, a date of 0 is then `0`.
    """
    return _guarded(_FORMATTERS["num" if field_type in _RAW else field_type])


def _guarded(formatter: Callable[[str | float], str]) -> Converter:
    def convert(value: FieldValue) -> str:
        if value is None:
            return NOT_AVAILABLE
        try:
            return formatter(value)
        except (ValueError, OverflowError):
            return NOT_AVAILABLE

    return convert


def _text(value: str | float) -> str:
    return NOT_AVAILABLE if value in ("", _UNSET_EXIT) else str(value)


def _number(value: str | float) -> str:
    return str(value)


def _date(value: str | float) -> str:
    return _written_date(value, _DEFAULT_LAYOUT)


def _written_date(value: str | float, layout: str) -> str:
    if value in ("", 0):
        return NOT_AVAILABLE
    seconds, milliseconds = divmod(_whole(value), 1000)
    moment = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return moment.strftime(layout).replace("\x01", f"{milliseconds:03d}")


def _layout(pattern: str) -> str:
    """Translate a Java date pattern for `strftime`."""
    layout, end = "", 0
    for token in _DATE_TOKEN.finditer(pattern):
        text = token[0]
        if token.start() != end or (token[2] and text not in _DATE_PARTS):
            break
        end = token.end()
        literal = (token[1] or "'") if text.startswith("'") else text
        layout += _DATE_PARTS[text] if token[2] else literal.replace("%", "%%")
    if end < len(pattern):
        known = ", ".join(_DATE_PARTS)
        raise FormatUnknown(f"date:{pattern}: only {known} and text in quotes can be written")
    return layout


_DEFAULT_LAYOUT = _layout(_DEFAULT_DATE)


def _time(value: str | float) -> str:
    return format_duration(_whole(value))


def _memory(value: str | float) -> str:
    if isinstance(value, str) and not _is_long(value):
        return value
    return format_memory(_whole(value))


def _percent(value: str | float) -> str:
    return format_percent(float(value))


def _is_long(text: str) -> bool:
    return _LONG.fullmatch(text) is not None and -_INT64_LIMIT <= int(text) < _INT64_LIMIT


def _whole(value: str | float) -> int:
    """Truncate a number, or read the digits of a string."""
    return int(value)


_FORMATTERS: Mapping[FieldType, Callable[[str | float], str]] = MappingProxyType(
    {
        "str": _text,
        "num": _number,
        "date": _date,
        "time": _time,
        "mem": _memory,
        "perc": _percent,
    }
)
