"""Vectors of Nextflow's own tests and arithmetic for the trace record, by number (T1 to T16)."""

import pickle
from pathlib import Path

import pytest

from collector.collect import CollectOptions, Host, collect_task
from collector.errors import FormatUnknown, TraceNotFound
from collector.record import FieldValue, TraceRecord, raw_converter
from collector.trace import parse_command_trace, read_command_trace
from collector.units import parse_duration, parse_memory, parse_percent
from helpers.builders import probe_block, record, task_directory, trace

V2 = """nextflow.trace/v2
realtime=12021
%cpu=997
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
"""
LEGACY_HEADER = (
    "pid state %cpu %mem vmem rss peak_vmem peak_rss rchar wchar syscr syscw read_bytes write_bytes"
)


def written(fields: dict[str, FieldValue], *names: str) -> list[str]:
    built = TraceRecord(fields)
    return [built.fmt(name) for name in names]


def test_t1_a_v2_file() -> None:
    fields = parse_command_trace(V2)
    names = ("%cpu", "%mem", "vmem", "rss", "peak_vmem", "peak_rss")
    figures = ["99.7%", "0.9%", "315.5 MB", "143.1 MB", "315.7 MB", "192.5 MB"]
    assert written(fields, *names) == figures
    raw = ("realtime", "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")
    assert [fields[name] for name in raw] == [12021, 50838, 317, 120, 14, 0, 0]
    assert (fields["%cpu"], fields["vmem"]) == (99.7, 323104 * 1024)


def test_t2_a_legacy_file() -> None:
    row = "1 0 10 20 11084 1220 21084 2220 4790 12 11 1 20 30"
    fields = parse_command_trace(f"{LEGACY_HEADER}\n{row}\n153\n")
    names = ("%cpu", "%mem", "rss", "vmem", "peak_rss", "peak_vmem")
    assert written(fields, *names) == ["1.0%", "2.0%", "1.2 MB", "10.8 MB", "2.2 MB", "20.6 MB"]
    raw = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "realtime")
    assert [fields[name] for name in raw] == [4790, 12, 11, 1, 20, 30, 153]


def test_t3_a_legacy_file_with_large_figures() -> None:
    row = "18 0 7999 46 7868980 6694900 7876620 6702144 2147483647 2147483647 1 1 1 1"
    fields = parse_command_trace(f"{LEGACY_HEADER}\n{row}\n9005022\n")
    fields["duration"] = 9087193
    names = ("%cpu", "rss", "vmem", "rchar", "realtime", "duration")
    figures = ["799.9%", "6.4 GB", "7.5 GB", "2 GB", "2h 30m 5s", "2h 31m 27s"]
    assert written(fields, *names) == figures


VECTORS: list[tuple[str, str, FieldValue, str | None, str]] = [
    ("T4", "submit", 1412596982622, None, "2014-10-06 12:03:02.622"),
    ("T4", "submit", 1412596982622, "num", "1412596982622"),
    ("T5", "submit", 1408714875000, None, "2014-08-22 13:41:15.000"),
    ("T5", "submit", "1408714875000", "date:dd/MM/yy 'at' HH", "22/08/14 at 13"),
    ("T6", "duration", "2000", None, "2s"),
    ("T6", "%cpu", "5.00", None, "5.0%"),
    ("T6", "rss", "1024", None, "1 KB"),
    ("T6", "native_id", None, None, "-"),
    ("T7", "rss", None, None, "-"),
    ("T7", "rss", 2048, None, "2 KB"),
    ("T7", "rss", 1024000, None, "1000 KB"),
    ("T7", "rss", "0", None, "0"),
    ("T7", "rss", "100", None, "100 B"),
    ("T7", "rss", "1024", None, "1 KB"),
    ("T7", "rss", " 2048 ", None, "2 KB"),
    ("T7", "rss", "abc", None, "abc"),
    ("T7", "rss", "--5", None, "--5"),
    ("T7", "rss", str(2**63), None, str(2**63)),
    ("T8", "name", None, None, "-"),
    ("T8", "name", "0", None, "0"),
    ("T8", "name", 456, None, "456"),
    ("T8", "name", 0, None, "0"),
    ("T8", "exit", 2147483647, None, "-"),
    ("T9", "cpus", 0, None, "0"),
    ("T9", "cpus", 100, None, "100"),
    ("T9", "cpus", "333", None, "333"),
    ("T9", "cpus", None, None, "-"),
    ("T10", "%cpu", 0, None, "0.0%"),
    ("T10", "%cpu", 1, None, "1.0%"),
    ("T10", "%cpu", "0.199", None, "0.2%"),
    ("T10", "%cpu", "100.991", None, "101.0%"),
    ("T10", "%cpu", "abc", None, "-"),
    ("T16", "rss", 10 * 2**20, None, "10 MB"),
    ("T16", "rss", 10 * 2**20, "num", "10485760"),
    ("T16", "task_id", 5, None, "5"),
]


@pytest.mark.parametrize(("vector", "name", "value", "converter", "text"), VECTORS)
def test_a_formatter_vector(
    vector: str, name: str, value: FieldValue, converter: str | None, text: str
) -> None:
    assert record({name: value}).fmt(name, converter) == text, vector


@pytest.mark.parametrize("converter", ["nope", "mem:x", "date:EEE", "date:'open", ""])
def test_a_converter_that_does_not_exist_is_refused(converter: str) -> None:
    with pytest.raises(FormatUnknown):
        record({"submit": 1}).fmt("submit", converter)


def test_raw_mode_writes_amounts_as_numbers() -> None:
    assert raw_converter("mem")(10485760) == "10485760"
    assert raw_converter("perc")(104.5) == "104.5"
    assert raw_converter("date")(1412596982622) == "1412596982622"
    assert raw_converter("time")(None) == "-"
    assert raw_converter("str")(2147483647) == "-"


def test_t11_a_task_that_is_not_yet_complete(tmp_path: Path) -> None:
    task = {
        "submit": 1000,
        "start": 1500,
        "cpus": 2,
        "time": parse_duration("1 hour"),
        "memory": parse_memory("4 GB"),
        "disk": parse_memory("100 GB"),
        "accelerator": 3,
        "accelerator_type": "v100",
        "env": "FOO=hola\nBAR=mundo\nAWS_SECRET=12345\n",
    }
    found = collect_task(task_directory(tmp_path, task=task))
    assert (found["submit"], found["start"], found["cpus"]) == (1000, 1500, 2)
    assert (found["time"], found.fmt("time")) == (3600000, "1h")
    assert (found.fmt("memory"), found.fmt("disk")) == ("4 GB", "100 GB")
    assert found["env"] == "FOO=hola\nBAR=mundo\nAWS_SECRET=[secure]\n"
    assert (found["accelerator"], found["accelerator_type"]) == (3, "v100")
    assert (found["complete"], found["duration"]) == (None, None)


def test_t12_the_status_of_failed_and_aborted_tasks(tmp_path: Path) -> None:
    failed = collect_task(task_directory(tmp_path / "failed", exit_code=1))
    assert failed["status"] == "FAILED"
    host = Host(hostname="node1", boot_id="boot-1", pid_namespace=1, proc_root=tmp_path / "proc")
    content = trace(probe=probe_block(state="running"))
    directory = task_directory(tmp_path / "aborted", trace=content)
    assert collect_task(directory, CollectOptions(fusion="on", host=host))["status"] == "ABORTED"


def test_t13_requested_resources() -> None:
    fields: dict[str, FieldValue] = {
        "cpus": 4,
        "time": 3600000,
        "memory": parse_memory("8 GB"),
        "accelerator": 3,
    }
    assert written(fields, *fields) == ["4", "1h", "8 GB", "3"]


def test_t14_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceNotFound):
        read_command_trace(tmp_path / "missing")


def test_t15_gpu_metrics_are_not_serialized() -> None:
    original = record(gpu={"name": "Tesla T4", "pct": 75, "peak": 100})
    assert pickle.loads(pickle.dumps(original)).gpu_metrics is None


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("0ms", 0),
        ("32.3s", 32300),
        ("1m 2s", 62000),
        ("2h 31m 27s", 9087000),
        ("1 hour", 3600000),
        ("1.5 days", 129600000),
        ("1:02:03", 3723000),
    ],
)
def test_durations_are_read(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize("text", ["", "-", "5", "1 fortnight", "1h x", "-1s", "1:2"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("0", 0), ("5 B", 5), ("1 KB", 1024), ("1.5 MB", 1572864), ("2G", 2**31), ("8 EB", 2**63)],
)
def test_sizes_are_read(text: str, size_bytes: int) -> None:
    assert parse_memory(text) == size_bytes


@pytest.mark.parametrize("text", ["", "-", "1,000 KB", "KB", "5 XB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        parse_memory(text)


def test_percentages_are_read() -> None:
    assert parse_percent("104.5%") == 104.5
    with pytest.raises(ValueError, match=r"no percentage|could not convert"):
        parse_percent("NaN%")
