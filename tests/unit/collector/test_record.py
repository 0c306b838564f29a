import copy
import pickle

import pytest

from collector.record import FIELDS, FieldValue, TraceRecord, mask_environment
from helpers.builders import gpu_block, probe_block, record

DOCUMENTED_ORDER = [
    "task_id",
    "hash",
    "native_id",
    "process",
    "module",
    "container",
    "tag",
    "name",
    "status",
    "exit",
    "submit",
    "start",
    "complete",
    "duration",
    "realtime",
    "%cpu",
    "%mem",
    "rss",
    "vmem",
    "peak_rss",
    "peak_vmem",
    "rchar",
    "wchar",
    "syscr",
    "syscw",
    "read_bytes",
    "write_bytes",
    "attempt",
    "workdir",
    "script",
    "scratch",
    "queue",
    "cpus",
    "memory",
    "disk",
    "time",
    "env",
    "error_action",
    "vol_ctxt",
    "inv_ctxt",
    "hostname",
    "cpu_model",
    "accelerator",
    "accelerator_type",
]


def test_the_44_fields_stand_in_the_documented_order() -> None:
    assert list(FIELDS) == DOCUMENTED_ORDER
    assert len(FIELDS) == 44
    assert list(TraceRecord()) == DOCUMENTED_ORDER


def test_a_new_record_knows_nothing() -> None:
    assert set(TraceRecord().values()) == {None}


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(KeyError, match="max_rss"):
        TraceRecord()["max_rss"] = 1
    with pytest.raises(KeyError, match="max_rss"):
        TraceRecord({"max_rss": 1})
    with pytest.raises(KeyError):
        TraceRecord()["max_rss"]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_fr_003_r5_the_gpu_block_is_transient(duplicate: object) -> None:
    original = record({"rss": 1024}, gpu=gpu_block(), probe=probe_block())

    assert callable(duplicate)
    again = duplicate(original)

    assert again == original
    assert again["rss"] == 1024
    assert again.gpu_metrics is None
    assert again.probe is None
    assert original.gpu_metrics == gpu_block()


def test_fr_003_the_gpu_block_is_no_field() -> None:
    with_gpu = record(gpu=gpu_block(), probe=probe_block())

    assert with_gpu == record()
    assert list(with_gpu.to_dict()) == DOCUMENTED_ORDER
    assert "Tesla" not in repr(with_gpu)
    assert "gpu_metrics" not in with_gpu


def test_records_differ_by_their_fields_only() -> None:
    assert record({"rss": 1}) != record({"rss": 2})
    assert record() != record().to_dict()


def test_to_dict_is_a_copy() -> None:
    original = record({"rss": 1})
    original.to_dict()["rss"] = 2
    assert original["rss"] == 1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("duration", "2000", "2s"),
        ("realtime", 9005022, "2h 30m 5s"),
        ("realtime", 0, "0ms"),
        ("realtime", -1, "-"),
        ("%cpu", "5.00", "5.0%"),
        ("%cpu", "0.199", "0.2%"),
        ("%cpu", "100.991", "101.0%"),
        ("%cpu", "abc", "-"),
        ("rss", "1024", "1 KB"),
        ("rss", " 2048 ", "2 KB"),
        ("rss", "abc", "abc"),
        ("rss", "0", "0"),
        ("rss", 10.9 * 1024, "10.9 KB"),
        ("native_id", None, "-"),
        ("exit", 0, "0"),
        ("exit", 2147483647, "-"),
        ("tag", "", "-"),
        ("cpus", 4, "4"),
        ("submit", 1412596982622, "2014-10-06 12:03:02.622"),
        ("submit", 1408714875000, "2014-08-22 13:41:15.000"),
        ("submit", 0, "-"),
        ("submit", 10**18, "-"),
    ],
)
def test_fields_are_written_as_nextflow_writes_them(
    name: str, value: FieldValue, text: str
) -> None:
    assert record({name: value}).fmt(name) == text


def test_only_fields_can_be_formatted() -> None:
    with pytest.raises(KeyError):
        record(gpu=gpu_block()).fmt("gpu_metrics")


@pytest.mark.parametrize(
    ("environment", "masked"),
    [
        ("a=b", "a=b"),
        ("aws_key=12345", "aws_key=[secure]"),
        ("FOO=bar\nOPENAI_API_KEY=sk\n", "FOO=bar\nOPENAI_API_KEY=[secure]\n"),
        ("GITHUB_TOKEN=a=b=c", "GITHUB_TOKEN=[secure]"),
        ("MY_SECRET=x", "MY_SECRET=[secure]"),
        ("URL=http://x?token=abc&x=1", "URL=http://x?token=[secure]"),
        ("FOO=mytoken\nBAR=1", "FOO=mytoken\nBAR=1"),
        ("TOKEN=s\nBAR=1", "TOKEN=[secure]\nBAR=1"),
    ],
)
def test_secrets_in_the_environment_are_masked(environment: str, masked: str) -> None:
    assert mask_environment(environment) == masked
    assert record({"env": environment})["env"] == masked
