"""The ladder of utilization sources under drivers that fail in part, in virtual time.

The load is 100 % for the first 0.3 s of every second: whoever takes one reading of the moment for a
longer time, or reads in step with the load, is far off.
"""

from collections import Counter
from typing import Any

import pytest

from helpers.replay import Replay

TRUTH = 30
RATES = "nvml_utilization_rates"
START_S = 60
CODES = [
    *("NO_PERMISSION", "UNKNOWN", "INVALID_ARGUMENT", "NOT_FOUND", "NO_DATA", "TIMEOUT", "IN_USE"),
    *("NOT_READY", "INSUFFICIENT_SIZE", "NOT_SUPPORTED"),
]


def duty(seconds: int, device: int = 0) -> str:
    points = " ".join(f"{t} 100 {t}.3 0" for t in range(START_S, START_S + seconds))
    return f"series {device} util {points}\nseries {device} mem 0 4000\n"


def only(result: dict[str, Any]) -> dict[str, Any]:
    [device] = result["gpu"]["devices"]
    assert isinstance(device, dict)
    return device


def calls_per_device_second(replay: Replay, seconds: int) -> dict[int | None, float]:
    """Count the calls after the first readings."""
    calls = Counter(call.device for call in replay.calls() if call.at_s > START_S)
    return {device: count / seconds for device, count in calls.items()}


@pytest.mark.parametrize("code", CODES)
def test_without_a_ring_that_answers_rates_are_polled_out_of_step(
    replay: Replay, code: str
) -> None:
    fails = f"fail nvmlDeviceGetSamples code={code}\n"
    found = only(replay.run(f"device 0\n{duty(300)}{fails}", seconds=300))
    assert found["utilization_source"] == RATES
    assert found["pct"] == pytest.approx(TRUTH, abs=8)  # 2.6 is to be expected of chance
    assert found["coverage"] > 0.98
    assert max(calls_per_device_second(replay, 300).values()) <= 3


@pytest.mark.parametrize("code", CODES)
def test_a_ring_that_ends_is_followed_by_rates(replay: Replay, code: str) -> None:
    fails = f"fail nvmlDeviceGetSamples from=100 code={code}\n"
    found = only(replay.run(f"device 0\n{duty(300)}{fails}", seconds=300))
    assert found["utilization_source"] == RATES
    assert found["pct"] == pytest.approx(TRUTH, abs=8)
    assert found["coverage"] > 0.93


@pytest.mark.parametrize("code", CODES)
def test_a_ring_that_comes_back_is_read_again(replay: Replay, code: str) -> None:
    if code in ("NO_PERMISSION", "NOT_SUPPORTED"):
        pytest.skip("these are for ever")
    fails = f"fail nvmlDeviceGetSamples from=61 to=70 code={code}\n"
    found = only(replay.run(f"device 0\n{duty(120)}{fails}", seconds=120))
    assert found["utilization_source"] == "nvml_samples"
    assert found["pct"] == pytest.approx(TRUTH, abs=3)
    assert found["coverage"] > 0.93


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "function",
    ["nvmlGpmSampleGet", "nvmlGpmMetricsGet", "nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc"],
)
def test_gpm_that_fails_is_followed_by_rates(replay: Replay, function: str, code: str) -> None:
    fails = f"fail nvmlDeviceGetSamples code=NOT_SUPPORTED\nfail {function} code={code}\n"
    found = only(replay.run(f"device 0 gpm=1\n{duty(300)}{fails}", seconds=300))
    assert found["utilization_source"] == RATES
    assert found["pct"] == pytest.approx(TRUTH, abs=8)
    assert found["coverage"] > 0.9
    assert max(calls_per_device_second(replay, 300).values()) <= 3


def test_gpm_that_ends_is_followed_by_rates(replay: Replay) -> None:
    fails = (
        "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"
        "fail nvmlGpmMetricsGet from=100 code=UNKNOWN\n"
    )
    found = only(replay.run(f"device 0 gpm=1\n{duty(300)}{fails}", seconds=300))
    assert found["utilization_source"] == RATES
    assert found["pct"] == pytest.approx(TRUTH, abs=8)
    assert found["coverage"] > 0.9


@pytest.mark.parametrize("interval_ms", [10, 100, 1000, 60_000])
def test_rates_are_polled_at_their_own_pace(replay: Replay, interval_ms: float) -> None:
    fails = "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"
    scenario = f"device 0\n{duty(300)}{fails}"
    found = only(replay.run(scenario, seconds=300, interval_ms=interval_ms))
    assert found["pct"] == pytest.approx(TRUTH, abs=8)
    assert found["coverage"] > 0.98
    assert max(calls_per_device_second(replay, 300).values()) <= 3


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5, 0.9, 1.5, 5])
@pytest.mark.parametrize("code", ["NOT_SUPPORTED", "NOT_FOUND"])
def test_rates_of_the_job_before_do_not_count(replay: Replay, seconds: float, code: str) -> None:
    fails = f"fail nvmlDeviceGetSamples code={code}\n"
    scenario = f"driver period_ms=1000\ndevice 0\nseries 0 util 10 100 60 0\n{fails}"
    found = only(replay.run(scenario, seconds=seconds))
    assert found.get("pct", 0) == 0
    assert ("pct" in found) == (seconds > 1)


@pytest.mark.parametrize(("ring", "dry"), [(1, 0), (2, 0), (3, 0), (10, 0), (1, 1), (2, 1), (3, 1)])
def test_a_ring_that_holds_too_little_is_not_relied_on(replay: Replay, ring: int, dry: int) -> None:
    scenario = f"driver ring={ring} dry_when_idle={dry}\ndevice 0\n{duty(300)}"
    found = only(replay.run(scenario, seconds=300))
    assert found["utilization_source"] == RATES
    assert found["pct"] == pytest.approx(TRUTH, abs=8)
    assert found["coverage"] > 0.9


def devices(count: int) -> str:
    return "".join(
        f"device {n} mem_mib=15360 gpm={n % 2}\n"
        f"{duty(60, n)}series {n} clock_sm 0 1500\nseries {n} sm 0 10\n"
        for n in range(count)
    )


@pytest.mark.parametrize(
    "rules",
    [
        "",
        "fail nvmlDeviceGetSamples dev=1 code=NOT_SUPPORTED\nhide nvmlGpm*\n",
        "fail nvmlDeviceGetSamples dev=2 code=NOT_SUPPORTED\n",
        "fail nvmlDeviceGetSamples dev=3 code=NOT_SUPPORTED\n",
        "fail nvmlDeviceGetSamples code=NOT_FOUND\n",
        "fail nvmlDeviceGetSamples from=80 code=NOT_FOUND\n",
        "fail nvmlDeviceGetSamples code=UNKNOWN\nfail nvmlGpmMetricsGet code=UNKNOWN\n",
        "fail nvmlDeviceGetMemoryInfo* code=UNKNOWN\nfail nvmlDeviceGetSamples code=UNKNOWN\n",
        "fail nvmlDeviceGetMemoryInfo* code=NO_PERMISSION\n",
        "fail nvmlDeviceGetMemoryInfo* from=62 code=TIMEOUT\n",
        "fail nvmlDeviceGetUtilizationRates code=NO_PERMISSION\n",
        "fail nvml*Get* from=62 p=0.5 code=TIMEOUT\n",
        "fail nvml*Get* from=60.2 code=UNKNOWN\n",
    ],
)
@pytest.mark.parametrize("interval_ms", [10, 1000])
def test_mixed_and_failing_devices_keep_to_three_calls_a_second(
    replay: Replay, rules: str, interval_ms: float
) -> None:
    replay.run(devices(16) + rules, seconds=60, interval_ms=interval_ms)
    rates = calls_per_device_second(replay, 60)
    rates.pop(None, None)
    assert max(rates.values()) <= 3


def test_a_flood_of_events_is_drained_at_the_end(replay: Replay) -> None:
    flood = "".join(f"event 0 t={70 + n * 0.1:.1f} type=xid data=31\n" for n in range(90))
    found = only(replay.run(f"device 0\n{duty(60)}{flood}", seconds=60))
    assert len(found["xids"]) + found["further_xids"] == 90
    waits = Counter(int(c.at_s) for c in replay.calls() if "EventSetWait" in c.function)
    assert max(count for second, count in waits.items() if second < 120) <= 4


def test_a_dry_ring_of_an_old_job_counts_for_nothing(replay: Replay) -> None:
    """Entries of ten minutes ago are the newest that the driver has."""
    scenario = "driver dry_when_idle=1\ndevice 0\nseries 0 util 10 100 15 0 620 60 630 0\n"
    found = only(replay.run(scenario, seconds=60, start_s=600))
    assert found["pct"] == 10
    assert found["coverage"] > 0.98
    assert found["first_busy_ms"] == pytest.approx(20_000, abs=400)


RINGLESS = "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("fail nvmlDeviceGetUtilizationRates code=NOT_SUPPORTED\n", "tells no utilization"),
        ("fail nvmlDeviceGetUtilizationRates code=NO_PERMISSION\n", "does not permit it"),
        ("fail nvmlDeviceGetUtilizationRates code=UNKNOWN\n", "tells no utilization"),
        ("lost 0 t=60.5\n", "the device was lost"),
        ("hang nvmlDeviceGetMemoryInfo dev=0 from=999\nlost 0 t=61.3\n", "the device was lost"),
        ("fail nvmlDeviceGetUtilizationRates from=62 code=TIMEOUT\n", "less than 5 %"),
    ],
)
def test_utilization_that_is_absent_has_a_reason(replay: Replay, rules: str, reason: str) -> None:
    found = only(replay.run(f"device 0\n{duty(60)}{RINGLESS}{rules}", seconds=60))
    assert "pct" not in found
    assert reason in found["absent"]["pct"]


def test_activity_that_is_absent_has_a_reason(replay: Replay) -> None:
    scenario = f"device 0 gpm=1\n{duty(60)}series 0 sm 0 10\n"
    found = only(replay.run(f"{scenario}fail nvmlGpmMetricsGet code=UNKNOWN\n", seconds=60))
    assert "less than 5 %" in found["absent"]["sm_activity_pct"]
    whole = only(replay.run(scenario, seconds=60))
    assert "sm_activity_pct" not in whole["absent"]
    assert "pct" not in whole["absent"]


def test_many_devices_that_take_turns_are_one_busy_time(replay: Replay) -> None:
    """More separate bursts than are kept apart at one time."""
    count, seconds = 2, 600
    scenario = "driver period_ms=100\n" + "".join(
        f"device {n}\nseries {n} util "
        + " ".join(f"{t}.{n} 100 {t}.{n + 1} 0" for t in range(START_S, START_S + seconds))
        + "\n"
        for n in range(count)
    )
    late = "fail nvmlDeviceGetSamples dev=1 from=64 to=67 code=UNKNOWN\n"
    gpu = replay.run(scenario + late, seconds=seconds)["gpu"]
    busy = [device["active_time"] for device in gpu["devices"]]
    assert busy[0] == pytest.approx(seconds * 100, abs=200)
    assert gpu["active_time"] == pytest.approx(sum(busy), abs=200)
