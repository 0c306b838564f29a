from pathlib import Path

import pytest

from collector.benchmark import COLUMNS, Benchmark, benchmark_row
from collector.errors import BenchmarkInvalid
from collector.record import FieldValue
from helpers.builders import gpu_block, probe_block, record

DOCUMENTED = [
    *("task_id", "hash", "process", "tag", "attempt", "realtime", "%cpu", "peak_rss", "peak_vmem"),
    *("rchar", "wchar", "vol_ctxt", "inv_ctxt", "status", "exit", "repeat"),
    *("gpu_name", "gpu_mem", "gpu_driver", "gpu_active_time", "gpu_pct", "gpu_peak"),
    *("gpu_pct_mem", "gpu_peak_mem", "gpu_avg_mem", "gpu_peak_mem_used"),
    *("gpu_avg_mem_bw_util", "gpu_peak_mem_bw_util", "hostname", "native_id", "workdir"),
    *("coverage", "throttled", "shared", "gpu_uuids", "gpu_energy_mj"),
]


def device(**values: object) -> dict[str, object]:
    return {"uuid": "GPU-1", "energy_mj": 10, "throttle_reasons": [], **values}


def test_b_6_the_columns_stand_in_the_documented_order() -> None:
    assert list(COLUMNS) == DOCUMENTED
    assert list(benchmark_row(record(), 1)) == [*DOCUMENTED, "gpu_metrics"]


def test_b_3_a_row_has_the_figures_of_its_record() -> None:
    fields: dict[str, FieldValue] = {"realtime": 5, "%cpu": 99.7, "hostname": "n", "workdir": "/w"}
    gpu = gpu_block()
    row = benchmark_row(record(fields, gpu=gpu, probe={"coverage": 0.9}), 2)
    assert {name: row[name] for name in fields} == fields
    assert row["repeat"] == 2
    assert row["gpu_pct"] == 60
    assert row["gpu_peak_mem_bw_util"] == 20
    assert row["coverage"] == 0.9
    assert row["gpu_metrics"] is gpu


@pytest.mark.parametrize("gpu", [None, {}, {"devices": "x"}, {"devices": [None]}])
def test_what_is_not_known_is_none(gpu: dict[str, object] | None) -> None:
    row = benchmark_row(record(gpu=gpu), 1)
    known = {name for name, value in row.items() if value is not None} - {"gpu_metrics"}
    assert known == {"task_id", "status", "exit", "repeat"}


@pytest.mark.parametrize(
    ("devices", "throttled"),
    [
        ([device()], False),
        ([device(), device(throttle_reasons=["sw_thermal"])], True),
        ([device(throttle_reasons=None), device()], False),
        ([device(throttle_reasons=None)], None),
        ([], None),
    ],
)
def test_throttling_is_known_only_where_a_device_tells(
    devices: list[object], throttled: bool | None
) -> None:
    assert benchmark_row(record(gpu=gpu_block(devices=devices)), 1)["throttled"] is throttled


@pytest.mark.parametrize(
    ("scope", "shared"),
    [
        ({"shared": True}, True),
        ({"shared": False}, False),
        ({"gpus": "none"}, None),
        ({"shared": "yes"}, None),
        ("shared", None),
        (None, None),
    ],
)
def test_the_trace_tells_whether_others_used_the_devices(
    scope: object, shared: bool | None
) -> None:
    probe = probe_block(scope=scope)
    assert benchmark_row(record(gpu=gpu_block(), probe=probe), 1)["shared"] is shared
    assert benchmark_row(record(gpu=gpu_block()), 1)["shared"] is None


def test_devices_are_listed_and_their_energy_summed() -> None:
    devices = [device(), device(uuid="GPU-2", energy_mj=5), device(uuid=None, energy_mj=1)]
    row = benchmark_row(record(gpu=gpu_block(devices=devices)), 1)
    assert row["gpu_uuids"] == ["GPU-1", "GPU-2"]
    assert row["gpu_energy_mj"] == 16


@pytest.mark.parametrize(
    ("name", "expected"), [("b.tsv", "tsv"), ("b.jsonl", "jsonl"), ("b.x.TSV", "tsv")]
)
def test_b_5_the_suffix_decides_the_format(name: str, expected: str) -> None:
    assert Benchmark(file=Path(name)).format == expected


@pytest.mark.parametrize("name", ["b", "b.json", "b.csv", "tsv", ".tsv"])
def test_another_suffix_is_an_error_that_names_both(name: str) -> None:
    with pytest.raises(BenchmarkInvalid, match=r"\.tsv or \.jsonl"):
        Benchmark(file=Path(name))


@pytest.mark.parametrize("repeats", [0, -1])
def test_b_4_there_is_at_least_one_repeat(repeats: int) -> None:
    assert Benchmark(file=Path("b.tsv")).repeats == 1
    with pytest.raises(BenchmarkInvalid, match=r"^--repeats -?\d+: at least 1$"):
        Benchmark(file=Path("b.tsv"), repeats=repeats)


def test_the_energy_of_some_devices_is_not_that_of_all() -> None:
    devices = [device(), device(uuid="GPU-2", energy_mj=None)]
    row = benchmark_row(record(gpu=gpu_block(devices=devices)), 1)
    assert row["gpu_energy_mj"] is None
