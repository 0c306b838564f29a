"""GPM counters in whole tasks, in virtual time: means are exact, whatever the load does."""

from dataclasses import replace
from typing import Any

import pytest

from helpers.replay import Replay

RINGLESS = "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"
ACTIVITY = ("sm_activity_pct", "sm_occupancy_pct", "tensor_activity_pct", "dram_bw_pct")


def device(result: dict[str, Any]) -> dict[str, Any]:
    [only] = result["gpu"]["devices"]
    assert isinstance(only, dict)
    return only


def duty(period_ms: int, busy_ms: int, from_s: int, to_s: int) -> str:
    """Write a load of 100 % for the first busy_ms of each period."""
    points = []
    for start_ms in range(from_s * 1000, to_s * 1000, period_ms):
        points.append(f"{start_ms / 1000} 100 {(start_ms + busy_ms) / 1000} 0")
    return " ".join(points)


def test_a_mean_is_the_integral_of_the_load(replay: Replay) -> None:
    """From 60 s on: 20 s that rise from 0 to 80 %, 15 s at 33.3 %, 25 s idle."""
    load = "series 0 util linear 60 0 80 80 80 33.3 95 33.3 95 0\n"
    found = device(replay.run(f"device 0 gpm=1\n{load}{RINGLESS}", seconds=60))
    assert found["utilization_source"] == "nvml_gpm"
    assert found["pct"] == round((20 * 40 + 15 * 33.3) / 60) == 22
    assert found["peak"] == 71  # the readings at 16.5 s and 19 s are the last of the slope
    assert found["coverage"] == 1
    assert 35_000 <= found["active_time"] <= 37_000
    assert "avg_mem_bw_util" not in found
    width_s, profile = found["profile"]["bucket_ms"] / 1000, found["profile"]["pct"]
    assert sum(profile) * width_s / 60 == pytest.approx(22, abs=1)
    assert set(profile[int(37 / width_s) + 1 :]) == {0}


@pytest.mark.parametrize(("period_ms", "busy_ms"), [(1000, 300), (1000, 20), (2000, 700)])
def test_a_periodic_load_has_no_alias(replay: Replay, period_ms: int, busy_ms: int) -> None:
    """Loads in step with the readings, which the latest rate of the moment gets wrong."""
    load = f"device 0 gpm=1\nseries 0 util {duty(period_ms, busy_ms, 60, 120)}\n{RINGLESS}"
    found = device(replay.run(load, seconds=60))
    assert found["pct"] == 100 * busy_ms // period_ms
    assert found["coverage"] == 1


def test_counters_that_begin_anew_leave_a_hole_and_no_nonsense(replay: Replay) -> None:
    steps = "device 0 gpm=1\nseries 0 util 0 40 80 60\n" + RINGLESS
    lost = "fail nvmlGpmMetricsGet from=78 to=80.5 code=INVALID_ARGUMENT\n"
    whole = device(replay.run(steps, seconds=40))
    found = device(replay.run(steps + lost, seconds=40))
    assert whole["pct"] == 50
    assert found["pct"] == round((2000 - 2.5 * 40) / 37.5) == 51  # an interval of 2.5 s is lost
    assert found["coverage"] == 37.5 / 40
    assert found["samples"] == whole["samples"] - 1


def test_a_reading_that_fails_costs_nothing(replay: Replay) -> None:
    steps = "device 0 gpm=1\nseries 0 util 0 40 80 60\n" + RINGLESS
    late = "fail nvmlGpmSampleGet from=70 to=75 code=TIMEOUT\n"  # two readings
    found = device(replay.run(steps + late, seconds=40))
    assert (found["pct"], found["coverage"]) == (50, 1)


@pytest.mark.parametrize("finer", ["", "series 0 sm 0 5\n"], ids=["load", "load and SM"])
@pytest.mark.parametrize(
    ("gpm", "source"), [(1, "nvml_gpm"), (0, "nvml_utilization_rates")], ids=["gpm", "rates"]
)
def test_a_ring_that_ends_is_continued(replay: Replay, gpm: int, source: str, finer: str) -> None:
    """No time counts twice, also where the counters were read while the ring still told.

    What the ring had to tell since the last drain, at most 5 s, is lost, unless counters bridge it.
    """
    steps = f"device 0 gpm={gpm}\nseries 0 util 0 80 80 20\n{finer}"
    ends = "fail nvmlDeviceGetSamples from=82 code=NOT_SUPPORTED\n"
    found = device(replay.run(steps + ends, seconds=40))
    assert found["utilization_source"] == source
    bridged = gpm == 1 and finer != ""
    assert (39_800 if bridged else 34_800) <= found["active_time"] <= 40_000
    assert found["pct"] == pytest.approx(50, abs=2 if bridged else 4)


def test_each_metric_may_lack(replay: Replay) -> None:
    scenario = (
        "device 0 gpm=1\nseries 0 util 0 90\n"
        "series 0 sm linear 60 20 120 80\nseries 0 dram 0 33.33 75 66.66\n"
    )
    found = device(replay.run(scenario, seconds=60))
    assert found["utilization_source"] == "nvml_samples"
    assert found["sm_activity_pct"] == pytest.approx(50, abs=0.01)
    assert found["dram_bw_pct"] == pytest.approx((15 * 33.33 + 45 * 66.66) / 60, abs=0.01)
    assert 70 < found["peak_sm_activity_pct"] < 80  # a mean over 5 s
    assert found["peak_dram_bw_pct"] == 66.66
    assert {key for key in ACTIVITY if key in found} == {"sm_activity_pct", "dram_bw_pct"}


def test_activity_joins_the_timeline(replay: Replay) -> None:
    scenario = "device 0 gpm=1\nseries 0 util 0 90\nseries 0 sm linear 60 0 160 100\n"
    replay.run(f"{scenario}{RINGLESS}", seconds=60)
    timeline = replay.timeline()
    [lanes] = timeline["devices"]
    assert set(lanes) == {"index", "uuid", "gpu_pct", "gpu_mem_mib", "sm_activity_pct"}
    assert set(lanes["gpu_pct"]["mean"]) == {90}
    values = lanes["sm_activity_pct"]["mean"]
    bucket_s = timeline["bucket_ms"] / 1000
    for bucket, value in enumerate(values):  # means of the 2.5 s between two readings
        assert value == pytest.approx((bucket + 0.5) * bucket_s, abs=1.3)


@pytest.mark.parametrize("seconds", [1.5, 3, 14])
def test_activity_of_a_short_task_is_whole(replay: Replay, seconds: float) -> None:
    scenario = "device 0 gpm=1\nseries 0 tensor linear 60 0 160 100\n"
    found = device(replay.run(scenario, seconds=seconds))
    assert found["tensor_activity_pct"] == pytest.approx(seconds / 2, abs=0.01)


@pytest.mark.parametrize("instance", ["", "mig 0 0 gi=5 mem_mib=9728\n"])
def test_activity_that_the_driver_does_not_tell_is_not_called_too_little(
    replay: Replay, instance: str
) -> None:
    load = f"series {'0.0' if instance else '0'} util 0 70\n"
    found = device(
        replay.run(f"device 0 gpm=1 mem_mib=81920\n{instance}{load}{RINGLESS}", seconds=60)
    )
    assert (found["utilization_source"], found["pct"]) == ("nvml_gpm", 70)
    assert found["absent"]["sm_activity_pct"].endswith("the driver does not tell its activity")


def test_without_gpm_there_is_no_activity(replay: Replay) -> None:
    found = device(replay.run("device 0\nseries 0 util 0 90\n", seconds=60))
    assert not [key for key in found if key.removeprefix("peak_") in ACTIVITY]
    assert {call.function for call in replay.calls() if "Gpm" in call.function} == {
        "nvmlGpmQueryDeviceSupport"
    }
    assert len([call for call in replay.calls() if "Gpm" in call.function]) == 1


@pytest.mark.parametrize(
    ("branch", "source"), [("470", "nvml_utilization_rates"), ("525", "nvml_gpm")]
)
def test_drivers_before_525_have_no_gpm(replay: Replay, branch: str, source: str) -> None:
    library = replay.library.parent / branch / replay.library.name
    old = replace(replay, library=library)
    found = device(old.run(f"device 0 gpm=1\nseries 0 util 0 70\n{RINGLESS}", seconds=30))
    assert (found["utilization_source"], found["pct"]) == (source, 70)


def test_a_device_that_is_lost_keeps_what_was_known(replay: Replay) -> None:
    scenario = f"device 0 gpm=1\nseries 0 util 0 70\n{RINGLESS}lost 0 t=90.25\n"
    found = device(replay.run(scenario, seconds=60))
    assert found["lost_at_ms"] == pytest.approx(31_000, abs=500)
    assert found["pct"] == 70
    assert found["coverage"] == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("rest", ["", RINGLESS], ids=["ring", "no ring"])
@pytest.mark.parametrize("count", [1, 16])
def test_gpm_keeps_to_three_calls_a_second(replay: Replay, count: int, rest: str) -> None:
    scenario = "".join(
        f"device {n} gpm=1\nseries {n} util 0 50\nseries {n} sm 0 {n}\n" for n in range(count)
    )
    result = replay.run(scenario + rest, seconds=60)
    found = result["gpu"]["devices"]
    assert [entry["sm_activity_pct"] for entry in found] == list(range(count))
    after_first_tick = [call for call in replay.calls() if call.at_s > 60]
    assert len(after_first_tick) / count / 60 <= 3
