"""Public reports on utilization readings, each as a task that would show the defect.

The number in a test's name is that of the report.
"""

import itertools

import pytest

from helpers.replay import Replay

PERIOD_S = 0.167
BUSY = "device 0\nseries 0 util 0 60\nseries 0 mem 0 4000\n"


def test_row_23_dry_ring_counts_as_idle(replay: Replay) -> None:
    """See github.com/polarsignals/gpu-metrics-agent/pull/37: no entries while idle."""
    load = "device 0\nseries 0 util 0 0 360 100 390 0\n"
    [device] = replay.run(f"driver dry_when_idle=1\n{load}", seconds=330)["gpu"]["devices"]
    assert device["pct"] == round(100 * 30 / 330)
    assert device["coverage"] > 1 - 4 * PERIOD_S / 330
    assert device["first_busy_ms"] == pytest.approx(300_000, abs=1000 * PERIOD_S)
    assert device["longest_idle_ms"] == pytest.approx(300_000, abs=2000 * PERIOD_S)


def test_row_24_stamps_since_boot_change_nothing(replay: Replay) -> None:
    """See github.com/polarsignals/gpu-metrics-agent/pull/36."""
    load = "device 0\nseries 0 util 10 100 50 0 60 80 80 0\n"  # and work of before the task
    epoch, boot = (
        replay.run(f"driver clock={clock}\n{load}", seconds=40)["gpu"]
        for clock in ("epoch", "boot")
    )
    assert boot == epoch
    assert boot["pct"] == 40


def test_row_25_stuck_at_100_percent_is_noted(replay: Replay) -> None:
    """See github.com/NVIDIA/open-gpu-kernel-modules/issues/1138: for ever after a suspend."""
    stuck = replay.run("device 0\nseries 0 util 0 100\nseries 0 mem 0 4\n", seconds=60)
    [note] = stuck["probe"]["notes"]
    assert "100 % busy throughout with no memory in use" in note
    busy = replay.run("device 0\nseries 0 util 0 100\nseries 0 mem 0 4000\n", seconds=60)
    assert busy["probe"]["notes"] == []


def test_row_26_rare_slow_calls_do_not_shift_the_weights(replay: Replay) -> None:
    """See github.com/NVIDIA/dcgm-exporter/issues/227: one call in a hundred takes two seconds."""
    load = "device 0\nseries 0 util 60 90 160 30\nseries 0 mem 60 8000 160 2000\n"
    slow = "delay nvmlDevice* from=61 p=0.01 us=2000000\n"
    [device] = replay.run(load + slow, seconds=200)["gpu"]["devices"]
    times = [call.at_s for call in replay.calls()]
    assert any(1.9 < b - a < 2.1 for a, b in itertools.pairwise(times))  # some calls were slow
    assert device["pct"] == 60
    assert device["coverage"] > 0.97
    assert device["avg_mem"] == pytest.approx(5000, abs=6000 * 3 / 200)


def test_row_57_polled_rates_do_not_fill_a_hang(replay: Replay) -> None:
    """See github.com/microsoft/pai/issues/889: the last value repeated while the driver hung."""
    hang = (
        "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"
        "delay nvmlDeviceGetUtilizationRates from=80 to=82 us=10000000\n"
    )
    [device] = replay.run(BUSY + hang, seconds=60)["gpu"]["devices"]
    assert device["pct"] == 60
    assert 0.6 < device["coverage"] < 0.95
    assert 0.6 < device["mem_coverage"] < 0.95
