"""What is judged, and how."""

from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest

import accuracy_cases
from accuracy_cases import CASES, Case
from accuracy_rows import Row, rows_of
from accuracy_run import Outcome
from oracle import Window

WINDOW = Window(F(3), F(13))


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """One device, 60 % and 4000 of 16000 MiB all the time."""
    monkeypatch.setattr(accuracy_cases, "FILES", tmp_path)
    write(tmp_path, "device 0 mem_mib=16000\nseries 0 util 0 60\nseries 0 mem 0 4000\n")
    return Case("one", 10, "")


def write(directory: Path, text: str) -> None:
    (directory / "one.txt").write_text(text)


def gpu(**values: object) -> dict[str, Any]:
    """A block that says of the scenario what is true."""
    return {
        "pct": 60,
        "peak": 60,
        "active_time": 9850,
        "pct_mem": 25.0,
        "avg_mem": 4000,
        "peak_mem_used": 4000,
        "peak_mem": 25.0,
        "devices": [{"energy_mj": 700_100}],
        **values,
    }


def judged(case: Case, block: dict[str, Any], **peers: dict[str, Any] | None) -> dict[str, Row]:
    rows = rows_of(case, Outcome(WINDOW, {"gpu": block}, peers))
    return {row.metric: row for row in rows}


def test_what_is_true_misses_nothing(case: Case) -> None:
    rows = judged(case, gpu())
    assert not [row for row in rows.values() if row.missed]
    assert {name: row.truth for name, row in rows.items()} == {
        "pct": 60,
        "peak": 60,
        "active_time": 10_000,
        "avg_mem": 4000,
        "pct_mem": 25.0,
        "peak_mem_used": 4000,
        "peak_mem": 25.0,
        "energy_mj": 700_000,
    }


@pytest.mark.parametrize(
    ("metric", "right", "wrong"),
    [
        ("pct", 61, 61.1),
        ("peak", 60, 61),
        ("active_time", 9813, 9812),  # a period of 167 ms, and 20
        ("pct_mem", 25.0, 25.0001),
        ("avg_mem", 4000, 4001),
        ("peak_mem_used", 4000, 3999),
        ("peak_mem", 25.0, 24.99),
    ],
)
def test_each_figure_has_its_tolerance(case: Case, metric: str, right: float, wrong: float) -> None:
    assert not judged(case, gpu(**{metric: right}))[metric].missed
    assert judged(case, gpu(**{metric: wrong}))[metric].missed


def test_energy_may_be_off_by_what_is_drawn_in_300_ms(case: Case) -> None:
    right, wrong = [{"energy_mj": 700_000 - 21_000}], [{"energy_mj": 700_000 - 21_001}]
    assert not judged(case, gpu(devices=right))["energy_mj"].missed
    assert judged(case, gpu(devices=wrong))["energy_mj"].missed


def test_a_figure_that_is_not_given_misses(case: Case) -> None:
    assert all(row.missed for row in judged(case, {}).values())


def test_peers_are_shown_and_never_judged(case: Case) -> None:
    row = judged(case, gpu(), far={"pct": 10}, silent=None, partial={"peak": 1})["pct"]
    assert row.peers == {"far": 10, "silent": None, "partial": None}
    assert not row.missed


def test_a_mean_of_polls_has_four_standard_errors(case: Case, tmp_path: Path) -> None:
    # Half of the driver's periods at 100, half at 0: a variance of 2500, over 10 readings.
    write(tmp_path, "driver period_ms=1000\ndevice 0\nseries 0 util 0 100 8 0\n")
    polled = replace(case, ring=False)
    error = 1 + 4 * (2500 * 13 / 12 / 10) ** 0.5
    assert not judged(polled, gpu(pct=50 + error - 0.01))["pct"].missed
    assert judged(polled, gpu(pct=50 + error + 0.01))["pct"].missed
    assert judged(case, gpu(pct=50 + error - 0.01))["pct"].missed
    assert judged(polled, gpu())["peak"].demand == "-"


def test_a_step_of_memory_may_be_seen_half_a_second_off(case: Case, tmp_path: Path) -> None:
    write(tmp_path, "device 0 mem_mib=10000\nseries 0 mem 0 1000 8.7 3000\n")
    # 1 pp, and 2000 MiB for 0.6 s of 10 s are 1.2 pp.
    true = 10 + 20 * 0.43
    assert not judged(case, gpu(pct_mem=true + 2.19))["pct_mem"].missed
    assert judged(case, gpu(pct_mem=true + 2.21))["pct_mem"].missed
    write(tmp_path, "device 0 mem_mib=10000\nseries 0 mem linear 3 1000 13 3000\n")
    assert not judged(case, gpu(pct_mem=20.99))["pct_mem"].missed
    assert judged(case, gpu(pct_mem=21.01))["pct_mem"].missed


def test_each_of_several_devices_has_its_rows(case: Case, tmp_path: Path) -> None:
    text = "device 0\ndevice 1\nseries 0 util 0 20\nseries 1 util 0 40\nseries 1 mem 0 16\n"
    write(tmp_path, text)
    devices = [{"pct": 20, "avg_mem": 0}, {"pct": 42, "avg_mem": 16}]
    rows = judged(case, gpu(pct=30, devices=devices), peer={"devices": devices[:1]})
    assert (rows["pct"].truth, rows["pct"].missed) == (30, False)
    assert not rows["devices[0].pct"].missed
    assert rows["devices[1].pct"].missed
    assert not rows["devices[1].avg_mem"].missed
    assert rows["devices[0].pct"].peers == {"peer": 20}
    assert rows["devices[1].pct"].peers == {"peer": None}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_scenario_can_be_read_by_the_oracle_and_is_short(case: Case) -> None:
    assert case.scenario().devices
    assert case.seconds <= 20
