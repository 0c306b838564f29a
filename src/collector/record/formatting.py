"""Field values as Nextflow writes them in `trace.txt`: one formatter per field type."""

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from types import MappingProxyType

from collector.record.fields import FieldType, FieldValue
from collector.units import format_duration, format_memory, format_percent

__all__ = ["NOT_AVAILABLE", "format_value"]

NOT_AVAILABLE = "-"
_UNSET_EXIT = 2_147_483_647  # Nextflow's exit status of a task that has none


def format_value(field_type: FieldType, value: FieldValue) -> str:
    """Write one value by its type; `-` where there is none or it cannot be written.

    Dates are in UTC.
    """
    if value is None:
        return NOT_AVAILABLE
    try:
        return _FORMATTERS[field_type](value)
    except (ValueError, OverflowError):
        return NOT_AVAILABLE


def _text(value: str | float) -> str:
    return NOT_AVAILABLE if value in ("", _UNSET_EXIT) else str(value)


def _number(value: str | float) -> str:
    return str(value)


def _date(value: str | float) -> str:
    if value in ("", 0):
        return NOT_AVAILABLE
    seconds, milliseconds = divmod(_whole(value), 1000)
    moment = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds:03d}"


def _time(value: str | float) -> str:
    return format_duration(_whole(value))


def _memory(value: str | float) -> str:
    if isinstance(value, str) and not value.strip().lstrip("+-").isdecimal():
        return value
    return format_memory(_whole(value))


def _percent(value: str | float) -> str:
    return format_percent(float(value))


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
