from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import TraceMalformed, TraceNotFound
from collector.record import FIELDS, TraceRecord
from collector.trace import parse_command_trace, read_command_trace

V2 = """nextflow.trace/v2
realtime=12021
%cpu=997
cpu_model=A CPU
rchar=50838
wchar=317
syscr=120
syscw=14
read_bytes=0
write_bytes=0
%mem=9
vmem=323104
rss=146536
peak_vmem=323252
peak_rss=197136
vol_ctxt=5
inv_ctxt=6
"""
LEGACY_HEADER = (
    "pid state %cpu %mem vmem rss peak_vmem peak_rss rchar wchar syscr syscw read_bytes write_bytes"
)
LEGACY = f"""{LEGACY_HEADER}
1 0 10 20 11084 1220 21084 2220 4790 12 11 1 20 30
153
"""


def test_a_v2_file_is_read() -> None:
    fields = parse_command_trace(V2)
    assert fields == {
        "realtime": 12021,
        "%cpu": 99.7,
        "cpu_model": "A CPU",
        "rchar": 50838,
        "wchar": 317,
        "syscr": 120,
        "syscw": 14,
        "read_bytes": 0,
        "write_bytes": 0,
        "%mem": 0.9,
        "vmem": 323104 * 1024,
        "rss": 146536 * 1024,
        "peak_vmem": 323252 * 1024,
        "peak_rss": 197136 * 1024,
        "vol_ctxt": 5,
        "inv_ctxt": 6,
    }
    record = TraceRecord(fields)
    written = {name: record.fmt(name) for name in ("%mem", "vmem", "rss", "peak_vmem", "peak_rss")}
    assert written == {
        "%mem": "0.9%",
        "vmem": "315.5 MB",
        "rss": "143.1 MB",
        "peak_vmem": "315.7 MB",
        "peak_rss": "192.5 MB",
    }


def test_a_legacy_file_is_read() -> None:
    assert parse_command_trace(LEGACY) == {
        "realtime": 153,
        "%cpu": 1.0,
        "%mem": 2.0,
        "vmem": 11084 * 1024,
        "rss": 1220 * 1024,
        "peak_vmem": 21084 * 1024,
        "peak_rss": 2220 * 1024,
        "rchar": 4790,
        "wchar": 12,
        "syscr": 11,
        "syscw": 1,
        "read_bytes": 20,
        "write_bytes": 30,
    }


@pytest.mark.parametrize("bad", ["1.5", "x", "-1", "", "9" * 20, str(2**63)])
def test_a_bad_number_costs_only_its_field(bad: str) -> None:
    assert parse_command_trace(f"nextflow.trace/v2\nrss={bad}\nrchar=7\n") == {"rchar": 7}


def test_sizes_keep_64_bits() -> None:
    text = f"nextflow.trace/v2\nrchar={2**63 - 1}\nrss={2**53}\n"
    assert parse_command_trace(text) == {"rchar": 2**63 - 1}


def test_a_trace_never_sets_the_identity() -> None:
    text = "nextflow.trace/v2\ntask_id=5\nstatus=1\nexit=0\nmax_rss=5\nrchar=7\n"
    assert parse_command_trace(text) == {"rchar": 7}


def test_legacy_lines_of_unequal_length_are_contained() -> None:
    assert parse_command_trace("pid state %cpu\n1 0 10 20 30\n") == {"%cpu": 1.0}
    assert parse_command_trace("pid state %cpu %mem\n1 0 10\nbad\n") == {"%cpu": 1.0}


@given(st.text() | st.text().map(lambda text: f"nextflow.trace/v2\n{text}"))
def test_no_text_can_raise(text: str) -> None:
    assert set(parse_command_trace(text)) <= set(FIELDS)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / ".command.trace"
    with pytest.raises(TraceNotFound, match=r"\.command\.trace"):
        read_command_trace(path)
    path.write_bytes(b"\xff")
    with pytest.raises(TraceMalformed, match="not UTF-8"):
        read_command_trace(path)
    path.write_bytes(b"")
    assert read_command_trace(path) == {}
