"""Conversions between wire units and record units, and Nextflow's way of writing them.

The rounding rules are those of Nextflow's `Duration`, `MemoryUnit` and `TraceRecord.fmtPercent`;
they differ from each other on purpose (half-up on decimals, half-even on binary values, half-up on
32-bit floats). `format_binary` alone is not Nextflow's, whose GB is a GiB.
"""

import math
import re
import struct
from decimal import ROUND_HALF_UP, Context, Decimal

__all__ = [
    "bytes_from_kib",
    "float32",
    "format_binary",
    "format_duration",
    "format_memory",
    "format_percent",
    "parse_duration",
    "parse_memory",
    "parse_percent",
    "percent_from_tenths",
    "percent_of",
]

_MEMORY_UNITS = ("B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB")
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_FLOAT32 = struct.Struct("<f")
_SECOND_MS = 1_000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", re.ASCII)
_CLOCK = re.compile(r"(\d+):(\d\d?):(\d\d?)", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPEZ]?)B?", re.ASCII | re.IGNORECASE)
_PART_MS = {
    **dict.fromkeys(("ms", "milli", "millis"), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), _SECOND_MS),
    **dict.fromkeys(("m", "min", "minute", "minutes"), _MINUTE_MS),
    **dict.fromkeys(("h", "hour", "hours"), _HOUR_MS),
    **dict.fromkeys(("d", "day", "days"), 24 * _HOUR_MS),
}


def bytes_from_kib(kib: int) -> int:
    """Convert KiB, the unit of `/proc/PID/status` and `proc.rss`, to bytes."""
    return kib * 1024


def float32(value: float) -> float:
    """Round to a 32-bit float and return the shortest decimal that denotes it.

    Nextflow holds percentages as 32-bit floats and writes them so: 99.7, not 99.69999694824219.
    """
    narrow = _narrow(value)
    for digits in range(6, 9):
        candidate = float(f"{narrow:.{digits}g}")
        if _narrow(candidate) == narrow:
            return candidate
    return float(f"{narrow:.9g}")


def percent_from_tenths(tenths: float) -> float:
    """Convert tenths of a percent (`proc.pct_cpu`, `proc.pct_mem`) to percent."""
    percent = tenths / 10
    # Six digits, and so these, survive in a 32-bit float.
    return percent if -1e6 < tenths < 1e6 and isinstance(tenths, int) else float32(percent)


def percent_of(part: float, whole: float) -> float:
    """Return `part` as percent of `whole`, which must not be 0."""
    return float32(part / whole * 100)


def format_duration(duration_ms: int) -> str:
    """Write milliseconds as Nextflow's `Duration` does: `999ms`, `32.3s`, `1h 2m 5s`.

    Raises:
        ValueError: the duration is negative.
    """
    if duration_ms < 0:
        raise ValueError(f"a duration is never negative: {duration_ms} ms")
    if duration_ms < _SECOND_MS:
        return f"{duration_ms}ms"
    if duration_ms < _MINUTE_MS:
        seconds, tenth = divmod((duration_ms + 50) // 100, 10)
        return f"{seconds}.{tenth}s" if tenth else f"{seconds}s"
    minutes, seconds = divmod((duration_ms + 500) // _SECOND_MS, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count)


def format_memory(size_bytes: int) -> str:
    """Write bytes as Nextflow's `MemoryUnit` does: `23.7 GB` (powers of 1024), `0` without a unit.

    Raises:
        ValueError: the size is negative.
    """
    if size_bytes < 0:
        raise ValueError(f"a size is never negative: {size_bytes} bytes")
    if size_bytes == 0:
        return "0"
    # The quotient of logarithms is Nextflow's, and so are its artefacts just below a power of 1024.
    exponent = int(math.log10(size_bytes) / math.log10(1024))
    number = f"{size_bytes / 1024**exponent:.1f}".removesuffix(".0")
    return f"{number} {_MEMORY_UNITS[exponent]}"


def format_binary(size_bytes: int) -> str:
    """Write bytes for people, with the unit's true name: `23.7 GiB`."""
    size, exponent = float(size_bytes), 0
    # What would be written as 1024.0 is written as 1 of the next unit.
    while round(size, 1) >= 1024 and exponent < len(_BINARY_UNITS) - 1:
        size /= 1024
        exponent += 1
    return f"{size:.1f}".removesuffix(".0") + f" {_BINARY_UNITS[exponent]}"


def format_percent(percent: float) -> str:
    """Write a percentage as Nextflow does: one decimal, rounded half up on the 32-bit float."""
    narrow = _narrow(percent)
    if not math.isfinite(narrow):
        return "NaN%" if math.isnan(narrow) else f"{'-' if narrow < 0 else ''}Infinity%"
    exact = Context(prec=60, rounding=ROUND_HALF_UP)  # the largest 32-bit float has 39 digits
    return f"{Decimal(repr(narrow)).quantize(Decimal('0.1'), context=exact):f}%"


def parse_duration(text: str) -> int:
    """Read what `format_duration` writes, and Nextflow's other forms, as ms: `1h 2.5s`, `1:02:03`.

    Raises:
        ValueError: it is no duration.
    """
    text = text.strip()
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = map(int, clock.groups())
        return hours * _HOUR_MS + minutes * _MINUTE_MS + seconds * _SECOND_MS
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text) or any(unit not in _PART_MS for _, unit in parts):
        raise ValueError(f"{text!r} is no duration")
    return int(sum(Decimal(number) * _PART_MS[unit] for number, unit in parts))


def parse_memory(text: str) -> int:
    """Read what `format_memory` writes, as bytes: `23.7 GB`, `1KB`, `0`.

    Raises:
        ValueError: it is no size.
    """
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise ValueError(f"{text!r} is no size of memory")
    return int(Decimal(size[1]) * 1024 ** ("", *"KMGTPEZ").index(size[2].upper()))


def parse_percent(text: str) -> float:
    """Read what `format_percent` writes: `104.5%`; the sign may be missing.

    Raises:
        ValueError: it is no finite number.
    """
    percent = float(text.strip().removesuffix("%"))
    if not math.isfinite(percent):
        raise ValueError(f"{text!r} is no percentage")
    return percent


def _narrow(value: float) -> float:
    """Return the double with the value of the nearest 32-bit float; infinity beyond its range."""
    try:
        (narrow,) = _FLOAT32.unpack(_FLOAT32.pack(value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(narrow)
