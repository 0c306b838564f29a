"""The arithmetic behind the checks on a real GPU."""

from pathlib import Path
from typing import Any

import pytest

from gpu_rows import Check, Fact, Failure, as_table, missed, read, write
from gpu_runs import Run, parse
from gpu_stages import plateau
from workloads.pair import Task, busy_intervals, expected, overlap_ms, union


def check(ours: float | None, within: float | None = 2) -> Check:
    return Check(stage="s", figure="pct", unit="%", truth=30, ours=ours, within=within)


@pytest.mark.parametrize(
    ("ours", "ok"), [(28, True), (32, True), (27.9, False), (33, False), (None, False)]
)
def test_a_figure_is_met_within_its_demand(ours: float | None, ok: bool) -> None:
    assert check(ours).ok is ok


def test_a_figure_that_is_only_shown_cannot_miss() -> None:
    assert check(None, within=None).ok


def test_rows_survive_the_file_and_misses_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    write(file, [check(30), check(90), Fact(stage="f", fact="x", value=[1, None])])
    write(file, [Failure(stage="g", failed="took too long")])
    rows = read(file)
    assert [row.get("ok") for row in rows] == [True, False, None, None]
    assert missed(rows) == 2
    table = as_table(rows)
    assert [row[-1] for row in table.rows] == ["", "MISSED", "FAILED: took too long"]


def duty(start_ms: int, busy: int, idle: int, cycles: int, mib: int) -> dict[str, Any]:
    return {
        "start_ms": start_ms,
        "busy_ms": busy,
        "idle_ms": idle,
        "cycles": cycles,
        "vram_mib": mib,
    }


def task(truth: dict[str, Any], start_ms: int, realtime: int) -> Task:
    return Task(
        truth=truth, trace={"probe": {"start_ms": start_ms}, "proc": {"realtime": realtime}}
    )


def test_intervals_that_overlap_count_once() -> None:
    assert union([(5, 8), (0, 3), (2, 4), (8, 9)]) == [(0, 4), (5, 9)]
    assert overlap_ms([(0, 4), (5, 9)], (3, 7)) == 3
    assert busy_intervals(duty(100, 30, 70, 2, 0)) == [(100, 130), (200, 230)]


def test_a_task_that_shares_a_device_sees_what_both_do() -> None:
    first = task(duty(1000, 300, 700, 2, 512), 1000, 2000)
    second = task(duty(1200, 300, 700, 2, 256), 1200, 2000)
    shown = expected(first, second)
    # 1000-1500 and 2000-2500 in 1000-3000; of its own 1000-1300 and 2000-2300
    assert (shown["device_pct"], shown["own_pct"]) == (50, 30)
    assert shown["shared"] is True
    assert (shown["foreign_processes"], shown["foreign_mib_at_least"]) == (1, 256)
    assert shown["device_peak_mib_at_least"] == 768


def test_tasks_one_after_the_other_do_not_share() -> None:
    first = task(duty(0, 300, 700, 1, 512), 0, 1000)
    second = task(duty(1000, 300, 700, 1, 256), 1000, 1000)
    shown = expected(first, second)
    assert (shown["shared"], shown["foreign_processes"], shown["device_pct"]) == (False, 0, 30)
    assert shown["device_peak_mib_at_least"] == 512


def test_of_several_devices_that_of_the_load_is_taken() -> None:
    devices = [{"uuid": "GPU-a", "pct": 1}, {"uuid": "GPU-b", "pct": 2}]
    run = Run(truth={"uuid": "GPU-b"}, trace={"gpu": {"devices": devices}}, timeline={})
    assert run.device() == devices[1]
    other = Run(truth={"uuid": "GPU-c"}, trace={"gpu": {"devices": devices}}, timeline={})
    assert other.device() == {}
    alone = Run(truth={"uuid": "GPU-c"}, trace={"gpu": {"devices": devices[:1]}}, timeline={})
    assert alone.device() == devices[0]


def test_the_timeline_is_read_at_the_moment() -> None:
    memory = {"gpu_mem_mib": {"mean": [10, 20, None]}}
    timeline = {"start_ms": 1000, "bucket_ms": 100, "devices": [{"uuid": "u"} | memory]}
    run = Run(truth={"uuid": "u"}, trace={}, timeline=timeline)
    assert plateau(run, 1150) == 20
    assert plateau(run, 1250) is None
    assert plateau(run, 9999) is None


def test_what_nvidia_smi_cannot_tell_is_no_reading() -> None:
    poll = parse("0, 30, 320\n1, 99, 99\n0, [N/A], 400\nUnable to determine the device\n")
    assert (poll.util_pct, poll.used_mib) == ([30], [320, 400])
    assert parse("").mean_util() is None
