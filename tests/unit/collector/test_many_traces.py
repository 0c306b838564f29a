"""Several traces in one task directory: ranks, other programs, earlier runs."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, Host, collect_task
from helpers.builders import (
    cgroup_block,
    gpu_block,
    probe_block,
    proc_block,
    sample_trace,
    task_directory,
    trace,
)

START_MS = 1_700_000_000_000
ON = CollectOptions(fusion="on")


def directory_with(directory: Path, **traces: object) -> Path:
    """Make a task directory; a keyword is the name of a file below .fusion with _ for each dot."""
    fusion = task_directory(directory, exit_code=0) / ".fusion"
    fusion.mkdir()
    for name, content in traces.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (fusion / (name.replace("_", ".").replace("gpu.probe", "gpu-probe") + ".json")).write_bytes(
            data
        )
    return directory


def rank(
    number: int, *, gpu: object = ..., start_ms: int = START_MS, **probe: object
) -> dict[str, Any]:
    written = probe.pop("written_ms", start_ms + 1500)
    return trace(
        gpu=gpu,
        cgroup=...,
        probe=probe_block(
            **{
                "run_id": f"{number:032x}",
                "rank": str(number),
                "start_ms": start_ms,
                "written_ms": written,
                "pid": 5_000_000 + number,
                "exit": 0,
                **probe,
            }
        ),
    )


def device(uuid: str, **values: object) -> dict[str, Any]:
    return {
        "index": 0,
        "uuid": uuid,
        "name": "Tesla T4",
        "mem": 16000,
        "active_time": 500,
        "pct": 50,
        "peak": 80,
        "avg_mem": 4000,
        "peak_mem_used": 8000,
        "coverage": 1.0,
        **values,
    }


def test_ranks_are_one_record(tmp_path: Path) -> None:
    ranks = {f"trace_7_{i}_node1": rank(i, start_ms=START_MS + 100 * i) for i in range(8)}
    record = collect_task(directory_with(tmp_path, **ranks), ON)
    proc = proc_block()
    for key in ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "vol_ctxt"):
        assert record[key] == 8 * proc[key]
    assert record["realtime"] == 1700  # the last one started 700 ms after the first
    assert record["%cpu"] == pytest.approx(8 * 99.0 / 1.7, abs=0.1)
    assert record["peak_rss"] == 8 * 1500 * 1024
    assert record.probe is not None
    assert record.probe["traces"] == 8
    assert "rank" not in record.probe


def test_memory_is_that_of_the_host_with_most(tmp_path: Path) -> None:
    ranks = {f"trace_{i}": rank(i, hostname=f"node{i % 2}") for i in range(5)}
    assert collect_task(directory_with(tmp_path, **ranks), ON)["peak_rss"] == 3 * 1500 * 1024


def test_a_counter_that_one_rank_lacks_is_not_known(tmp_path: Path) -> None:
    found = directory_with(tmp_path, trace_0=rank(0), trace_1=rank(1, unavailable=["proc.rchar"]))
    record = collect_task(found, ON)
    assert (record["rchar"], record["wchar"]) == (None, 400)


def test_a_device_of_several_ranks_is_counted_once(tmp_path: Path) -> None:
    a, b = device("GPU-a"), device("GPU-b", pct=70, active_time=700)
    partly = device("GPU-a", coverage=0.5, peak=99)
    found = directory_with(
        tmp_path,
        trace_0=rank(0, gpu=gpu_block(devices=[partly])),
        trace_1=rank(1, gpu=gpu_block(devices=[a])),
        trace_2=rank(2, gpu=gpu_block(devices=[b])),
    )
    gpu = collect_task(found, ON).gpu_metrics
    assert gpu is not None
    assert gpu["devices"] == [a, b]
    assert {key: value for key, value in gpu.items() if key != "devices"} == {
        "name": "Tesla T4",
        "mem": 32000,
        "driver": "580.126.09",
        "active_time": 700,
        "pct": 60,
        "peak": 80,
        "pct_mem": 25.0,
        "peak_mem": 50.0,
        "avg_mem": 8000,
        "peak_mem_used": 16000,
    }


def test_the_rank_that_watched_longest_speaks_for_a_device(tmp_path: Path) -> None:
    brief, whole = device("GPU-a", pct=100), device("GPU-a", pct=10, coverage=0.9995)
    short, long = (rank(n, gpu=gpu_block(devices=[d])) for n, d in enumerate((brief, whole)))
    short["proc"]["realtime"], long["proc"]["realtime"] = 10_000, 100_000
    gpu = collect_task(directory_with(tmp_path, trace_0=short, trace_1=long), ON).gpu_metrics
    assert gpu is not None
    assert gpu["devices"] == [whole]


def test_instances_without_uuid_are_told_apart(tmp_path: Path) -> None:
    nameless = {key: value for key, value in device("").items() if key != "uuid"}
    one, two = (nameless | {"mig": {"gi": gi, "ci": 0}} for gi in (1, 2))
    ranks = (rank(n, gpu=gpu_block(devices=[d])) for n, d in enumerate((one, two)))
    found = directory_with(tmp_path, trace_0=next(ranks), trace_1=next(ranks))
    gpu = collect_task(found, ON).gpu_metrics
    assert gpu is not None
    assert gpu["devices"] == [one, two]


def test_a_rank_that_saw_all_devices_speaks_for_all(tmp_path: Path) -> None:
    both = gpu_block(devices=[device("GPU-a"), device("GPU-b")], active_time=999)
    one = gpu_block(devices=[device("GPU-b")])
    found = directory_with(tmp_path, trace_0=rank(0, gpu=one), trace_1=rank(1, gpu=both))
    assert collect_task(found, ON).gpu_metrics == both


def test_devices_without_uuid_are_told_apart_by_host(tmp_path: Path) -> None:
    nameless = {key: value for key, value in device("").items() if key != "uuid"}
    block = gpu_block(devices=[nameless])
    found = directory_with(
        tmp_path,
        trace_0=rank(0, gpu=block, hostname="node0"),
        trace_1=rank(1, gpu=block, hostname="node1"),
        trace_2=rank(2, gpu=block, hostname="node1"),
    )
    gpu = collect_task(found, ON).gpu_metrics
    assert gpu is not None
    assert gpu["mem"] == 32000


@pytest.mark.parametrize("name", ["trace", "trace_7_0_node1", "gpu_probe"])
def test_one_trace_alone_is_untouched(tmp_path: Path, name: str) -> None:
    sample = sample_trace()
    content = sample if name == "trace" else {**sample, "probe": probe_block()}
    record = collect_task(directory_with(tmp_path, **{name: content}), ON)
    assert record.gpu_metrics == sample["gpu"]
    assert list(record.gpu_metrics or {}) == list(sample["gpu"])


def test_what_an_earlier_run_left_is_not_counted(tmp_path: Path) -> None:
    earlier = {f"trace_6_{i}": rank(i, start_ms=START_MS - 60_000) for i in range(4)}
    later = {f"trace_7_{i}": rank(10 + i) for i in range(2)}
    assert collect_task(directory_with(tmp_path, **earlier, **later), ON)["rchar"] == 200


def test_a_killed_run_from_before_is_not_counted(tmp_path: Path) -> None:
    host = Host(hostname="node1", boot_id="boot-1", pid_namespace=1, proc_root=tmp_path / "proc")
    killed = rank(1, start_ms=START_MS - 60_000, state="running")
    options = dataclasses.replace(ON, host=host)
    found = directory_with(tmp_path / "task", trace=killed, trace_vm=rank(2))
    assert collect_task(found, options)["rchar"] == 100


def test_a_rank_that_still_runs_is_counted(tmp_path: Path) -> None:
    found = directory_with(
        tmp_path,
        trace_0=rank(0, state="running", hostname="elsewhere", boot_id="other", written_ms=1),
        trace_1=rank(1, start_ms=START_MS + 60_000),
    )
    (tmp_path / ".exitcode").unlink()
    record = collect_task(found, ON)
    assert record["rchar"] == 200
    assert record["status"] == "RUNNING"


def test_elements_of_one_array_count_one_after_another(tmp_path: Path) -> None:
    elements = {
        f"trace_7_{i}": rank(i, job="7", array=str(i), start_ms=START_MS + 60_000 * i)
        for i in range(3)
    }
    other = rank(9, job="6", array="1", start_ms=START_MS - 60_000)
    found = directory_with(tmp_path, **elements, trace_6_1=other)
    assert collect_task(found, ON)["rchar"] == 300


def test_ranks_of_one_step_count_however_short_they_are(tmp_path: Path) -> None:
    early = rank(0, start_ms=START_MS - 60_000, job="7", step="1")
    late = rank(1, job="7", step="1")
    other = rank(2, start_ms=START_MS - 4_000, job="7", step="0")
    unnamed = rank(3, start_ms=START_MS - 4_000, job="7")
    found = directory_with(tmp_path, trace_0=early, trace_1=late, trace_2=other)
    assert collect_task(found, ON)["rchar"] == 200
    (tmp_path / "second").mkdir()
    found = directory_with(tmp_path / "second", trace_3=unnamed, trace_4=rank(4, job="7"))
    assert collect_task(found, ON)["rchar"] == 200


def test_a_measurement_within_another_is_not_counted_twice(tmp_path: Path) -> None:
    outer = rank(1, run_id="a" * 32)
    inner = rank(2, within="a" * 32)
    assert collect_task(directory_with(tmp_path, trace=outer, trace_vm=inner), ON)["rchar"] == 100


def test_the_rank_that_failed_decides(tmp_path: Path) -> None:
    found = directory_with(tmp_path, trace_0=rank(0), trace_1=rank(1, exit=3), trace_2=rank(2))
    (tmp_path / ".exitcode").unlink()
    record = collect_task(found, ON)
    assert (record["status"], record["exit"]) == ("FAILED", 3)


def test_another_programs_trace_comes_first(tmp_path: Path) -> None:
    foreign = trace(
        proc={"realtime": 900, "rchar": 7},
        gpu={"pct": 33},
        cgroup=cgroup_block(memory_peak_rss=123),
        probe=...,
    )
    unavailable = ["proc.rchar", "cgroup.memory_peak_rss", "proc.syscr"]
    ours = trace(
        probe=probe_block(unavailable=unavailable, scope={"cgroup": "shared"}),
        gpu=gpu_block(devices=[device("GPU-a")]),
    )
    record = collect_task(directory_with(tmp_path, trace=foreign, gpu_probe=ours), ON)
    assert (record["realtime"], record["rchar"], record["wchar"]) == (900, 7, 200)
    assert record["syscr"] is None
    assert record["peak_rss"] == 123
    assert record.gpu_metrics is not None
    assert next(iter(record.gpu_metrics)) == "pct"
    assert record.gpu_metrics["pct"] == 33
    assert record.gpu_metrics["devices"] == [device("GPU-a")]
    assert record.probe is not None


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]"])
def test_a_damaged_trace_costs_the_others_nothing(tmp_path: Path, damaged: bytes) -> None:
    found = directory_with(tmp_path, trace=damaged, gpu_probe=rank(1), trace_7_9_node=damaged)
    assert collect_task(found, ON)["rchar"] == 100


@pytest.mark.parametrize(
    "odd", [{"mem": 1.7e308}, {"pct": 1e30}, {"peak_mem_used": 1.7e308, "coverage": 10**300}]
)
def test_sc_003_an_absurd_figure_of_a_device_costs_no_other(
    tmp_path: Path, odd: dict[str, float]
) -> None:
    """Two of 1.7e308 add up to infinity, which is no integer."""
    ranks = {
        f"trace_{i}": rank(i, gpu=gpu_block(devices=[device(f"u{i}", **odd)])) for i in range(3)
    }
    record = collect_task(directory_with(tmp_path, **ranks), ON)
    assert (record["status"], record["exit"], record["rchar"]) == ("COMPLETED", 0, 300)
    gpu = record.gpu_metrics or {}
    assert gpu["avg_mem"] == 12000
    assert gpu.keys().isdisjoint(odd)


@pytest.mark.parametrize("block", ["proc", "gpus", "probe"])
def test_sc_003_a_block_that_cannot_be_folded_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    def fail(_traces: object) -> None:
        raise OverflowError("cannot convert float infinity to integer")

    name = "fold_gpus" if block == "gpus" else f"_fold_{block}"
    monkeypatch.setattr(f"collector.trace.folding.{name}", fail)
    ranks = {f"trace_{i}": rank(i, gpu=gpu_block(devices=[device(f"u{i}")])) for i in range(2)}
    record = collect_task(directory_with(tmp_path, **ranks), ON)
    assert (record["status"], record["exit"]) == ("COMPLETED", 0)
    assert (record["rchar"] is None) == (block == "proc")
    assert (record.gpu_metrics is None) == (block == "gpus")
    assert record.probe is not None


def test_sc_003_traces_that_cannot_be_read_cost_no_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_listing: object, _host: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("collector.collect.assembly.read_task_traces", fail)
    record = collect_task(directory_with(tmp_path, trace_1=rank(1)), ON)
    assert (record["status"], record["exit"]) == ("COMPLETED", 0)
