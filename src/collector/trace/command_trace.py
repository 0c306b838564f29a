"""Reader of `.command.trace`, the file of Nextflow's own bash wrapper (v2 and legacy)."""

from collector.errors import TraceMalformed, TraceNotFound
from collector.files import StrPath, read_bounded
from collector.record import FieldValue
from collector.trace.numbers import COUNTERS, bytes_of_kib, decimal_integer
from collector.units import percent_from_tenths

__all__ = ["parse_command_trace", "read_command_trace"]

_V2_HEADER = "nextflow.trace/v2"
_TENTHS = frozenset({"%cpu", "%mem"})
_KIB = frozenset({"rss", "vmem", "peak_rss", "peak_vmem"})
_INTEGERS = frozenset({"realtime", *COUNTERS})


def read_command_trace(path: StrPath) -> dict[str, FieldValue]:
    """Read the record fields that a `.command.trace` tells; only known ones.

    Raises:
        TraceNotFound: there is no file.
        TraceMalformed: the file cannot be read or is not UTF-8.
    """
    try:
        text = read_bounded(path).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TraceNotFound(f"{path}: no such file") from error
    except OSError as error:
        raise TraceMalformed(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise TraceMalformed(f"{path}: not UTF-8; the file is skipped") from error
    return parse_command_trace(text)


def parse_command_trace(text: str) -> dict[str, FieldValue]:
    """Parse the text of a `.command.trace`; a bad number leaves its field unknown."""
    lines = text.splitlines()
    if not lines:
        return {}
    pairs = _v2_pairs(lines) if lines[0] == _V2_HEADER else _legacy_pairs(lines)
    fields = {name: _value(name, text) for name, text in pairs.items()}
    return {name: value for name, value in fields.items() if value is not None}


def _v2_pairs(lines: list[str]) -> dict[str, str]:
    pairs = {}
    for line in lines[1:]:
        name, _, value = line.partition("=")
        if value:
            pairs[name] = value
    return pairs


def _legacy_pairs(lines: list[str]) -> dict[str, str]:
    """Pair a header line with a line of values; the first two columns are the pid and its state."""
    if len(lines) < 2:
        return {}
    pairs = dict(list(zip(lines[0].split(), lines[1].split(), strict=False))[2:])
    if len(lines) > 2:
        pairs["realtime"] = lines[2]
    return pairs


def _value(name: str, text: str) -> FieldValue:
    if name == "cpu_model":
        return text
    number = decimal_integer(text)
    if number is None:
        return None
    if name in _TENTHS:
        return percent_from_tenths(number)
    if name in _KIB:
        return bytes_of_kib(number)
    return number if name in _INTEGERS else None
