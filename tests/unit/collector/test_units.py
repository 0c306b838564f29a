import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.units import (
    bytes_from_kib,
    float32,
    format_binary,
    format_duration,
    format_memory,
    format_percent,
    percent_from_tenths,
    percent_of,
)


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1049, "1s"),
        (1050, "1.1s"),
        (1100, "1.1s"),
        (1949, "1.9s"),
        (1950, "2s"),
        (32300, "32.3s"),
        (59949, "59.9s"),
        (59950, "60s"),
        (60000, "1m"),
        (60499, "1m"),
        (60500, "1m 1s"),
        (61200, "1m 1s"),
        (61800, "1m 2s"),
        (3599499, "59m 59s"),
        (3599500, "1h"),
        (3601000, "1h 1s"),
        (10805000, "3h 5s"),
        (86399500, "1d"),
        (90001000, "1d 1h 1s"),
        (90061000, "1d 1h 1m 1s"),
    ],
)
def test_a_duration_is_written_as_nextflow_writes_it(duration_ms: int, text: str) -> None:
    assert format_duration(duration_ms) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0"),
        (1, "1 B"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1024, "1 KB"),
        (1500, "1.5 KB"),
        (1536, "1.5 KB"),
        (1075, "1 KB"),
        (1076, "1.1 KB"),
        (1280, "1.2 KB"),
        (1281, "1.3 KB"),
        (1792, "1.8 KB"),
        (1024000, "1000 KB"),
        (1048524, "1023.9 KB"),
        (1048525, "1024 KB"),
        (1048575, "1024 KB"),
        (1073741823, "1024 MB"),
        (1024**4 - 1, "1024 GB"),
        (1024**5 - 1, "1 PB"),
        (1024**6 - 1, "1 EB"),
        (67919872, "64.8 MB"),
        (41178980352, "38.4 GB"),
        (14783070208, "13.8 GB"),
        (25469927424, "23.7 GB"),
        (2**63 - 1, "8 EB"),
    ],
)
def test_memory_is_written_as_nextflow_writes_it(size_bytes: int, text: str) -> None:
    assert format_memory(size_bytes) == text


@pytest.mark.parametrize(
    ("percent", "text"),
    [
        (0, "0.0%"),
        (0.05, "0.1%"),
        (0.15, "0.2%"),
        (0.25, "0.3%"),
        (0.35, "0.3%"),
        (0.45, "0.4%"),
        (0.199, "0.2%"),
        (100.991, "101.0%"),
        (99.95, "99.9%"),
        (104.45, "104.4%"),
        (104.5, "104.5%"),
        (float("nan"), "NaN%"),
        (1e30, "1000000015047466200000000000000.0%"),
    ],
)
def test_a_percentage_rounds_half_up_on_the_32_bit_float(percent: float, text: str) -> None:
    assert format_percent(percent) == text


@pytest.mark.parametrize("write", [format_duration, format_memory])
def test_negative_amounts_are_refused(write: object) -> None:
    assert callable(write)
    with pytest.raises(ValueError, match="never negative"):
        write(-1)


def test_kib_become_bytes() -> None:
    assert bytes_from_kib(323104) == 330858496


def test_percentages_are_short_decimals() -> None:
    assert percent_from_tenths(997) == 99.7
    assert percent_of(14783070208, 77309411328) == 19.121954


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_denotes_the_same_32_bit_float(value: float) -> None:
    assert struct.pack("<f", float32(value)) == struct.pack("<f", value)
    assert float32(float32(value)) == float32(value)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (67_947_725, "64.8 MiB"),
        (1024**2 - 1, "1 MiB"),
        (14_817_637_171, "13.8 GiB"),
        (2**50, "1024 TiB"),
    ],
)
def test_sizes_for_people_name_the_power_of_1024(size_bytes: int, text: str) -> None:
    assert format_binary(size_bytes) == text
