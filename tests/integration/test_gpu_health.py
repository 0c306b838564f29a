"""How a device fared, in virtual time: every figure beside what the scenario says."""

from collections.abc import Callable
from typing import Any

import pytest

from helpers.replay import Replay
from helpers.wrapper import Wrapper

PERIOD_MS = 167
BUSY = "device 0 ecc=1\nseries 0 util 0 60\nseries 0 mem 0 4000\n"


def device_of(replay: Replay, scenario: str, *, seconds: float = 60) -> dict[str, Any]:
    """Replay a task from the scenario's 60th second on; return its only device."""
    [device] = replay.run(scenario, seconds=seconds)["gpu"]["devices"]
    assert isinstance(device, dict)
    return device


def test_the_first_work_and_the_longest_pause_have_their_time(replay: Replay) -> None:
    load = "device 0\nseries 0 util 0 0 65 50 75 0 90 50 100 0 105 50\n"
    device = device_of(replay, load)
    assert device["first_busy_ms"] == pytest.approx(5000, abs=PERIOD_MS)
    assert device["longest_idle_ms"] == pytest.approx(15_000, abs=2 * PERIOD_MS)


def test_a_device_that_never_works_has_no_first_work(replay: Replay) -> None:
    device = device_of(replay, "device 0\n")
    assert "first_busy_ms" not in device
    assert device["longest_idle_ms"] == pytest.approx(60_000, abs=PERIOD_MS)


def test_a_pause_is_not_made_of_time_that_nobody_saw(replay: Replay) -> None:
    """Entries of 12 s are in the ring; a call of 30 s loses 18 s, idle or not."""
    load = "device 0\nseries 0 util 60 50 70 0\n"
    slow = "delay nvmlDeviceGetMemoryInfo_v2 from=75 to=76.5 us=30000000\n"
    device = device_of(replay, load + slow, seconds=90)
    assert device["coverage"] < 0.9
    assert device["longest_idle_ms"] < 60_000


def test_power_is_energy_over_time(replay: Replay) -> None:
    device = device_of(
        replay, f"{BUSY}series 0 power 0 100 90 300\n".replace("ecc", "power_w=350 ecc")
    )
    assert device["energy_mj"] == 30 * 100_000 + 30 * 300_000
    assert device["avg_power_mw"] == 200_000
    assert device["power_limit_mw"] == 350_000


def test_power_over_less_than_a_second_is_not_told(replay: Replay) -> None:
    assert "avg_power_mw" not in device_of(replay, BUSY, seconds=0.9)


def test_temperature_and_clock_are_seen_while_busy(replay: Replay) -> None:
    curves = (
        "series 0 temp 0 40 80 87 95 60\n"
        "series 0 clock_sm 0 1200 80 1900 100 1500\nseries 0 throttle 0 0 80 0x20 95 0\n"
    )
    device = device_of(replay, BUSY + curves)
    assert device["peak_temp_c"] == 87
    assert (device["min_sm_clock_mhz"], device["max_sm_clock_mhz"]) == (1200, 1900)
    assert device["throttle_reasons"] == ["sw_thermal"]


def test_the_clock_of_an_idle_device_is_no_figure(replay: Replay) -> None:
    device = device_of(replay, "device 0\nseries 0 clock_sm 0 210\nseries 0 temp 0 30\n")
    assert "min_sm_clock_mhz" not in device
    assert device["peak_temp_c"] == 30


def test_memory_errors_are_those_of_the_task(replay: Replay) -> None:
    errors = "series 0 ecc_sbe 0 5 70 8\nseries 0 ecc_dbe 0 1 100 2\n"
    device = device_of(replay, BUSY + errors)
    assert (device["ecc_corrected"], device["ecc_uncorrected"]) == (3, 1)


def test_memory_that_waits_for_its_repair_is_told(replay: Replay) -> None:
    pending = BUSY.replace("ecc=1", "ecc=1 remap_pending=1")
    assert device_of(replay, pending)["memory_repair_pending"] is True
    repaired = BUSY.replace("ecc=1", "ecc=1 remapped_corrected=1")
    assert device_of(replay, repaired)["memory_repair_pending"] is False
    assert "memory_repair_pending" not in device_of(replay, BUSY)


def test_events_are_told_with_their_time(replay: Replay) -> None:
    """Those from before the task are not its own; a time may be late by a poll, not early."""
    events = (
        "event 0 t=50 type=xid data=13\nevent 0 t=72 type=xid data=31\n"
        "event 0 t=101 type=xid data=48\nevent 0 t=101 type=ecc_dbe\n"
    )
    device = device_of(replay, BUSY + events)
    first, second = device["xids"]
    assert (first["xid"], second["xid"]) == (31, 48)
    assert 12_000 <= first["at_ms"] <= 18_000
    assert 41_000 <= second["at_ms"] <= 47_000
    assert device["double_bit_ecc_events"] == 1
    assert "further_xids" not in device


def test_a_flood_of_events_is_counted(replay: Replay) -> None:
    flood = "".join(f"event 0 t={62 + n} type=xid data={n}\n" for n in range(40))
    device = device_of(replay, BUSY + flood)
    assert [event["xid"] for event in device["xids"]] == [*range(15), 39]  # and the newest
    assert device["further_xids"] == 24


def test_a_flood_of_one_number_hides_no_other(replay: Replay) -> None:
    """All of 240 events within 2.4 s are there in the end, and the one that explains a loss."""
    numbers = [13] * 200 + [79] + [13] * 39
    flood = "".join(f"event 0 t={70 + n / 100} type=xid data={x}\n" for n, x in enumerate(numbers))
    device = device_of(replay, BUSY + flood, seconds=13)
    assert {event["xid"] for event in device["xids"]} == {13, 79}
    assert len(device["xids"]) + device["further_xids"] == 240


def test_an_event_without_a_number_has_none(replay: Replay) -> None:
    device = device_of(replay, f"{BUSY}event 0 t=71.2 type=xid data=999\n")
    [event] = device["xids"]
    assert set(event) == {"at_ms"}


def test_memory_errors_have_their_time(replay: Replay) -> None:
    errors = "".join(f"event 0 t={71 + n} type=ecc_dbe\n" for n in range(20))
    device = device_of(replay, BUSY + errors)
    assert device["double_bit_ecc_events"] == 20
    assert len(device["ecc_events"]) == 16  # the first
    assert 11_000 <= device["ecc_events"][0]["at_ms"] <= 17_000


@pytest.mark.parametrize("call", ["1", "2", "1-"])
@pytest.mark.parametrize(
    ("function", "key"),
    [
        ("nvmlDeviceGetTotalEnergyConsumption", "energy_mj"),
        ("nvmlDeviceGetTotalEccErrors", "ecc_corrected"),
    ],
)
def test_a_counter_that_could_not_be_read_has_a_reason(
    replay: Replay, function: str, key: str, call: str
) -> None:
    if key == "ecc_corrected":
        call = call.replace("2", "3")  # two counters at each time
    device = device_of(replay, f"{BUSY}fail {function} call={call} code=TIMEOUT\n")
    assert key not in device
    assert "no reading" in device["absent"][key]


def test_a_temperature_that_could_not_be_read_has_a_reason(replay: Replay) -> None:
    device = device_of(replay, f"{BUSY}fail nvmlDeviceGetTemperature* code=UNKNOWN\n")
    assert "no reading" in device["absent"]["peak_temp_c"]


def test_a_lost_device_says_why_its_energy_is_not_there(replay: Replay) -> None:
    device = device_of(replay, f"{BUSY}lost 0 t=80\n")
    assert {"energy_mj", "ecc_corrected", "ecc_uncorrected"} <= set(device["absent"])


def test_a_loss_is_explained_at_once(replay: Replay) -> None:
    """The Xid is there before the next look, and the lost device is left alone after it."""
    device = device_of(replay, f"{BUSY}event 0 t=71.2 type=xid data=79\nlost 0 t=71.2\n")
    lost_ms = device["lost_at_ms"]
    assert 11_200 <= lost_ms <= 12_200  # at the next look
    assert device["xids"] == [{"xid": 79, "at_ms": lost_ms}]
    assert [call.at_s for call in replay.calls() if call.at_s > 60 + (lost_ms + 1) / 1000] == []


def test_no_event_is_claimed_of_time_in_which_nobody_read_them(replay: Replay) -> None:
    """The library is gone before the second look: both devices are lost, and nothing is known."""
    two = f"{BUSY}device 1\nevent 0 t=61.5 type=xid data=13\nunload t=62\n"
    for device in replay.run(two, seconds=12)["gpu"]["devices"]:
        assert 2000 <= device["lost_at_ms"] <= 4000
        assert not {"xids", "ecc_events", "double_bit_ecc_events"} & set(device)
        assert device["absent"]["xids"] == "events were not read after 0 ms"


def test_events_that_were_read_stay_although_later_ones_were_not(replay: Replay) -> None:
    events = "event 0 t=62 type=xid data=13\nevent 0 t=69 type=xid data=31\n"
    fail = "fail nvmlEventSetWait* from=68 code=UNKNOWN\n"
    device = device_of(replay, BUSY + events + fail)
    assert [event["xid"] for event in device["xids"]] == [13]
    assert "double_bit_ecc_events" not in device
    read_ms = device["xids"][0]["at_ms"]
    assert device["absent"]["xids"] == f"events were not read after {read_ms} ms"


@pytest.mark.parametrize(("seconds", "told"), [(12, True), (60, False)])
def test_a_device_is_not_called_unthrottled_of_time_that_nobody_saw(
    replay: Replay, seconds: float, told: bool
) -> None:
    device = device_of(replay, f"{BUSY}lost 0 t=68\n", seconds=seconds)
    assert ("throttle_reasons" in device) is told
    reason = device.get("absent", {}).get("throttle_reasons", "")
    assert reason.startswith("nobody looked after ") is not told


def test_events_go_to_the_device_that_had_them(replay: Replay) -> None:
    two = f"{BUSY}device 1\nevent 1 t=70 type=xid data=31\n"
    first, second = replay.run(two, seconds=60)["gpu"]["devices"]
    assert first["xids"] == []
    assert [event["xid"] for event in second["xids"]] == [31]


@pytest.mark.parametrize(
    ("functions", "keys"),
    [
        ("nvmlEventSetCreate", {"xids", "ecc_events", "double_bit_ecc_events"}),
        ("nvmlDeviceRegisterEvents", {"xids", "ecc_events", "double_bit_ecc_events"}),
        ("nvmlDeviceGetTemperature*", {"peak_temp_c"}),
        ("nvmlDeviceGetClockInfo", {"min_sm_clock_mhz", "max_sm_clock_mhz"}),
        ("nvmlDeviceGetTotalEnergyConsumption", {"energy_mj", "avg_power_mw"}),
        ("nvmlDeviceGetTotalEccErrors", {"ecc_corrected", "ecc_uncorrected"}),
        ("nvmlDeviceGetEnforcedPowerLimit", {"power_limit_mw"}),
        ("nvmlDeviceGetCurrentClocks*", {"throttle_reasons"}),
    ],
)
def test_what_a_driver_does_not_support_is_absent_and_asked_once(
    replay: Replay, functions: str, keys: set[str]
) -> None:
    full = f"{BUSY}series 0 clock_sm 0 1500\n"
    everything = set(device_of(replay, full))
    assert keys <= everything
    absent = set(device_of(replay, f"{full}fail {functions} code=NOT_SUPPORTED\n"))
    assert absent == everything - keys
    refused = [call.function for call in replay.calls() if call.outcome == "3"]
    asked_twice = {"nvmlDeviceGetTotalEccErrors", "nvmlDeviceRegisterEvents"}  # two of each
    assert max(map(refused.count, set(refused) - asked_twice), default=1) == 1


def test_the_end_tells_the_peak_and_the_xid(
    gpu_wrapper: Wrapper, scenario: Callable[[str], None]
) -> None:
    scenario(
        "device 0 mem_mib=81920\nseries 0 mem 0 81510\nevent 0 t=0.3 type=xid data=31\n"
        "series 0 temp 0 91\n"
    )
    done = gpu_wrapper.run("sh", "-c", "sleep 0.7; exit 1", options=["--summary"])
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert "; the driver reported Xid 31; the command failed with exit status 1" in lines[0]
    assert "peak 91" in done.stderr
    assert lines[-1].startswith("gpu-probe: ended with exit status 1 at 00:00:00, peak RSS ")
    assert lines[-1].endswith(", peak VRAM 79.6 of 80.0 GiB at 00:00:00, Xid 31")
