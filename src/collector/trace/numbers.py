"""Numbers of untrusted files: a value that is not a sane number is `None`, never an exception."""

import math

from collector.units import bytes_from_kib

__all__ = ["COUNTERS", "bytes_of_kib", "counter", "decimal_integer"]

# Counts and bytes of a task: the same names in a record, in `proc` and in `.command.trace`.
COUNTERS = (
    "rchar",
    "wchar",
    "syscr",
    "syscw",
    "read_bytes",
    "write_bytes",
    "vol_ctxt",
    "inv_ctxt",
)

_INT64_MAX = 2**63 - 1


def counter(value: object) -> int | None:
    """Return a count, a size or a time: an integer from 0 to 2^63 - 1.

    Floats are truncated and decimal strings are read, as Nextflow does; everything else is `None`.
    """
    if type(value) is int:  # by far the most common: bool, a kind of int, is no number here
        return value if 0 <= value <= _INT64_MAX else None
    if isinstance(value, str):
        return decimal_integer(value)
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    return _in_range(int(value))


def decimal_integer(text: str) -> int | None:
    """Return the value of a string of ASCII digits, blanks around them allowed."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return None
    return _in_range(int(digits))


def bytes_of_kib(kib: int | None) -> int | None:
    """Return KiB in bytes; `None` where that is no sane size."""
    return None if kib is None else _in_range(bytes_from_kib(kib))


def _in_range(number: int) -> int | None:
    return number if 0 <= number <= _INT64_MAX else None
