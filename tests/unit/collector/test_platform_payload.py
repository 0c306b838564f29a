"""Facts of the Tower trace protocol, by the number of their section: 3.5 and 3.8."""

import math
from typing import Any

import orjson
import pytest

from collector.platform.payload import camel_case, gpu_metrics, instant, is_mock, task_payload
from collector.platform.series import SERIES, RunMetrics, quantile, series_values, summarize
from collector.platform.tally import Tally, entry_of, metrics_of
from collector.record import FIELDS, FieldValue
from helpers.builders import gpu_block, record, sample_trace
from helpers.platform_types import TASK, violation

CPU = [10, 77, 33, 98, 12, 87, 23, 12, 76, 21]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abc", "abc"),
        ("a_b_c", "aBC"),
        ("foo__bar", "fooBar"),
        ("task_id", "taskId"),
        ("native_id", "nativeId"),
        ("%cpu", "pcpu"),
        ("%mem", "pmem"),
        ("peak_rss", "peakRss"),
        ("peak_vmem", "peakVmem"),
        ("read_bytes", "readBytes"),
        ("write_bytes", "writeBytes"),
        ("error_action", "errorAction"),
        ("vol_ctxt", "volCtxt"),
        ("inv_ctxt", "invCtxt"),
        ("cpu_model", "cpuModel"),
        ("accelerator_type", "acceleratorType"),
    ],
)
def test_3_5_names(name: str, expected: str) -> None:
    assert camel_case(name) == expected


@pytest.mark.parametrize(
    ("moment_ms", "text"),
    [
        (1412596982622, "2014-10-06T12:03:02.622Z"),
        (1412596982000, "2014-10-06T12:03:02Z"),
        (1412596980000, "2014-10-06T12:03:00Z"),  # Nextflow's leaves the seconds out here
    ],
)
def test_3_5_dates(moment_ms: int, text: str) -> None:
    assert instant(moment_ms) == text


def test_3_5_a_date_of_0_is_no_date() -> None:
    assert "complete" not in task_payload(record({"complete": 0}), 1)


def test_3_5_the_task_of_the_upstream_test() -> None:
    gpu = {
        "name": "Tesla T4",
        "mem": 15360,
        "driver": "580.126.09",
        "active_time": 651030,
        "pct": 75,
        "peak": 100,
    }
    fields: dict[str, FieldValue] = {"process": "foo", "workdir": "/work/dir", "cpus": 1}
    assert task_payload(record(fields, gpu=gpu), 10) == {
        "taskId": 10,
        "status": "COMPLETED",
        "exit": 0,
        "process": "foo",
        "workdir": "/work/dir",
        "cpus": 1,
        "gpuMetrics": gpu,
    }


def test_3_5_every_field_has_a_type_that_the_server_takes() -> None:
    values: dict[str, Any] = {
        name: 1_700_000_000_000 if kind == "date" else "text" if kind == "str" else 7
        for name, kind in FIELDS.items()
    }
    values |= {"%cpu": 99.7, "%mem": 0.1, "exit": 1, "error_action": "RETRY", "status": "FAILED"}
    task = task_payload(record(values, gpu=gpu_block()), 3, include=("env", "script"))
    assert violation("progress", {"tasks": [task]}) is None
    assert len(task) == len(FIELDS) + 2  # gpuMetrics and resourceAllocation
    assert set(TASK) - set(task) <= {"numSpotInterruptions", "executor"}
    assert task["module"] == ["text"]
    assert task["resourceAllocation"] == {"acceleratorCount": 7, "acceleratorType": "text"}


def test_3_5_null_keys_are_dropped() -> None:
    assert None not in task_payload(record(), 1).values()


def test_3_5_an_exit_that_is_not_set_yet_fits() -> None:
    assert task_payload(record({"exit": 2147483647}), 1)["exit"] == 2147483647
    assert "exit" not in task_payload(record({"exit": 2**31}), 1)


def test_3_5_a_number_in_a_text_is_a_number_and_another_text_is_left_out() -> None:
    task = task_payload(record({"exit": "137", "cpus": "two", "rss": 10.6}), 1)
    assert (task["exit"], task.get("cpus"), task["rss"]) == (137, None, 11)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "x", [1], 2**64])
def test_3_7_numbers_that_json_or_int64_cannot_hold_are_left_out(value: Any) -> None:  # noqa: ANN401
    fields = {"%cpu": value if not isinstance(value, int) or value is True else "x", "rss": value}
    task = task_payload(record(fields), 1)
    assert {"pcpu", "rss"}.isdisjoint(task)
    orjson.dumps(task)


def test_ec_1_as_1_unknown_gpu_keys_go_as_they_are_and_in_order() -> None:
    block = {"new": None, **sample_trace()["gpu"], "z": {"a": [None, True, "x"]}, "n": 2**63}
    assert list(gpu_metrics(block).items()) == list(block.items())


def test_sc_003_a_gpu_value_that_json_cannot_hold_costs_only_itself() -> None:
    block = gpu_block(huge=2**64, kept=1)
    sent = gpu_metrics(block)
    assert "huge" not in sent
    assert sent["kept"] == 1


@pytest.mark.parametrize("key", ["active_time", "mem", "avg_mem", "peak_mem_used"])
def test_the_int64_keys_of_the_gpu_block_are_integers(key: str) -> None:
    sent = gpu_metrics(gpu_block(**{key: 6159.4}))[key]
    assert (sent, type(sent)) == (6159, int)


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "ABORTED"])
def test_fr_005_gpu_metrics_go_with_every_end(status: str) -> None:
    assert "gpuMetrics" in task_payload(record({"status": status}, gpu=gpu_block()), 1)


@pytest.mark.parametrize("status", ["RUNNING", "SUBMITTED", None, "strange"])
def test_gpu_metrics_wait_for_the_end(status: str | None) -> None:
    task = task_payload(record({"status": status}, gpu=gpu_block()), 1)
    assert "gpuMetrics" not in task
    assert task["status"] in ("RUNNING", "SUBMITTED")


def test_a_cached_task_is_sent_as_completed_so_that_its_figures_count() -> None:
    task = task_payload(record({"status": "CACHED"}, gpu=gpu_block()), 1)
    assert task["status"] == "COMPLETED"
    assert task["gpuMetrics"] == gpu_block()


def test_a_mock_record_is_known_as_such() -> None:
    assert is_mock(record(probe={"mock": True}))
    assert not is_mock(record(probe={"mock": False}))
    assert not is_mock(record())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 3, 5, 7, 9, 11], [1, 3.5, 6, 8.5, 11]),
        ([7, 15, 36, 39, 40, 41], [7, 20.25, 37.5, 39.75, 41]),
        ([10, 11, 13, 15, 16, 23, 26], [10, 12, 15, 19.5, 26]),
        ([10, 11, 13, 15, 16, 23, 26, 32], [10, 12.5, 15.5, 23.75, 32]),
        ([6, 7, 15, 36, 39, 40, 41, 42, 43, 47, 49], [6, 25.5, 40, 42.5, 49]),
    ],
)
def test_3_8_quantiles(values: list[float], expected: list[float]) -> None:
    assert [quantile(values, percent) for percent in (0, 25, 50, 75, 100)] == expected


def test_3_8_a_series_and_whose_its_quartiles_are() -> None:
    assert summarize(CPU, [f"task-{index}" for index in range(10)]) == {
        "mean": 44.9,
        "min": 10,
        "q1": 14.25,
        "q2": 28,
        "q3": 76.75,
        "max": 98,
        "minLabel": "task-0",
        "q1Label": "task-7",
        "q2Label": "task-6",
        "q3Label": "task-8",
        "maxLabel": "task-3",
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([75, 90, 60, 85], [60, 71.25, 80, 86.25, 90, 77.5]),
        ([11388, 12000, 9000, 11500], [9000, 10791, 11444, 11625, 12000, 10972]),
        ([6161, 7000, 5000, 6500], [5000, 5870.75, 6330.5, 6625, 7000, 6165.25]),
    ],
)
def test_3_8_gpu_series(values: list[float], expected: list[float]) -> None:
    found = summarize(values, list("abcd"))
    assert found is not None
    assert [found[key] for key in ("min", "q1", "q2", "q3", "max", "mean")] == expected
    assert (found["minLabel"], found["maxLabel"]) == ("c", "b")


def test_3_8_a_series_of_zeros_or_of_nothing_is_none() -> None:
    assert summarize([0, 0], ["a", "b"]) is None
    assert summarize([], []) is None


def test_3_8_numbers_are_rounded_half_up_to_two_decimals() -> None:
    found = summarize([0.125, 0.125], ["a", "b"])
    assert found is not None
    assert found["mean"] == 0.13


def metrics(*tasks: dict[str, Any]) -> list[dict[str, Any]]:
    stated = [
        {"taskId": index, "status": "COMPLETED", "name": f"t{index}", **task}
        for index, task in enumerate(tasks)
    ]
    return metrics_of({str(task["taskId"]): entry_of(task, 1) for task in stated})


def test_3_8_three_tasks_of_one_process() -> None:
    (found,) = metrics(
        {"process": "bwa-mem", "realtime": 3000, "time": 5000, "pcpu": 1000},
        {"process": "A:bwa-mem", "realtime": 8000, "time": 10000, "pcpu": 6000},
        {"process": "A:B:bwa-mem", "realtime": 13000, "time": 10000, "pcpu": 10000, "cpus": 2},
    )
    assert found["process"] == "bwa-mem"
    assert found["time"]["mean"] == 8000
    assert (found["time"]["q1"], found["time"]["q3"]) == (5500, 10500)
    usage = found["timeUsage"]
    assert [usage[key] for key in ("min", "q1", "q2", "q3", "max", "mean")] == [
        60, 70, 80, 105, 130, 90,
    ]  # fmt: skip
    cpu = found["cpuUsage"]
    assert [cpu[key] for key in ("min", "q1", "q2", "q3", "max", "mean")] == [
        1000, 3000, 5000, 5500, 6000, 4000,
    ]  # fmt: skip
    assert found["cpu"]["mean"] == 5666.67
    assert not {"gpuUsage", "gpuMemPeak", "gpuMemAvg", "memUsage"} & set(found)


def test_3_8_processes_are_in_order_and_cpu_tasks_add_nothing_to_gpu_series() -> None:
    gpu = {"pct": 50, "peak_mem_used": 10, "avg_mem": 5}
    second, first = metrics(
        {"process": "z"}, {"process": "a", "gpuMetrics": gpu}, {"process": "a", "pcpu": 3}
    )
    assert (second, first["process"]) == ({"process": "z"}, "a")
    assert first["gpuUsage"]["mean"] == 50
    assert first["gpuUsage"]["maxLabel"] == "t1"


def test_3_8_tasks_that_run_are_not_in_the_metrics() -> None:
    assert metrics({"process": "p", "status": "RUNNING", "pcpu": 3}) == []


def test_3_8_the_series_have_the_names_of_the_protocol() -> None:
    assert SERIES == (
        "cpu", "mem", "vmem", "time", "reads", "writes", "cpuUsage", "memUsage", "timeUsage",
        "gpuUsage", "gpuMemPeak", "gpuMemAvg",
    )  # fmt: skip
    assert len(series_values({})) == len(SERIES)


def test_3_4_progress_follows_every_change() -> None:
    tally = Tally()
    states = [
        {"taskId": 1, "status": "RUNNING", "process": "p", "cpus": 4, "memory": 100},
        {"taskId": 2, "status": "FAILED", "process": "q"},
    ]
    running, failed = (entry_of(state, 1) for state in states)
    tally.replace(None, running)
    tally.replace(None, failed)
    progress = tally.progress()
    assert (progress["running"], progress["failed"], progress["loadCpus"]) == (1, 1, 4)
    assert progress["loadMemory"] == 100
    assert [process["name"] for process in progress["processes"]] == ["p", "q"]
    assert violation("progress", {"progress": progress}) is None

    tally.replace(running, entry_of({**states[0], "status": "COMPLETED"}, 2))
    progress = tally.progress()
    assert (progress["running"], progress["succeeded"], progress["loadCpus"]) == (0, 1, 0)
    assert tally.failures == 1


@pytest.mark.parametrize("absurd", [1e300, -1e300, 1.7e308, math.inf, 10**400])
def test_an_absurd_figure_is_in_no_series(absurd: float) -> None:
    """Two of 1.7e308 add up to infinity, and 1e300 has no cents to be rounded."""
    metrics = RunMetrics()
    for name, pct in (("a", absurd), ("b", 40.0), ("c", absurd)):
        metrics.add("p", name, [None] * 9 + [pct, 2.0**63, None])
    (process,) = metrics.summary()
    assert (process["gpuUsage"]["mean"], process["gpuUsage"]["maxLabel"]) == (40.0, "b")
    assert process["gpuMemPeak"]["max"] == 2.0**63
