"""Cases computed by hand; the comments hold the arithmetic."""

from dataclasses import replace
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Truth, Window, driver_samples, parse_scenario, process_peak_bytes, truth_of
from oracle.scenario import MIB, Device

seeded = settings(derandomize=True, deadline=None)


def truth(text: str, start: str, end: str, interval: str = "1") -> Truth:
    return truth_of(parse_scenario(text), Window(F(start), F(end)), interval=F(interval))


def test_a_constant_load_is_its_own_mean_and_peak() -> None:
    gpu = truth("device 0\nseries 0 util 0 60", "1.05", "4.3").total.gpu
    assert [gpu.mean, gpu.published_mean, gpu.peak, gpu.variance] == [60, 60, 60, 0]
    assert gpu.busy_s == F("3.25")


def test_the_driver_rounds_each_period_down() -> None:
    # Periods of 100 ms; 30 ms at 100 % = 30 %, then 70 ms at 0; then 33.9 % constant -> 33.
    text = "driver period_ms=100\ndevice 0\nseries 0 util 0 100 0.03 0 0.1 33.9"
    gpu = truth(text, "0", "0.2").total.gpu
    assert gpu.mean == (30 + F("33.9")) / 2
    assert gpu.published_mean == (30 + 33) / F(2)
    assert gpu.peak == 33
    assert gpu.variance == F(3, 2) ** 2


def test_first_and_last_periods_are_clipped() -> None:
    # Periods end at 1, 2, 3 s with 10, 20, 90 %; the window has 0.5 s, 1 s and 0.25 s of them.
    text = "driver period_ms=1000\ndevice 0\nseries 0 util 0 10 1 20 2 90"
    gpu = truth(text, "0.5", "2.25").total.gpu
    assert gpu.published_mean == (F("0.5") * 10 + 20 + F("0.25") * 90) / F("1.75")
    assert gpu.peak == 20  # the third was not published yet
    assert gpu.busy_s == F("1.75")


def test_a_period_that_is_rounded_down_to_nothing_is_not_active() -> None:
    # 5 ms at 100 % in a period of 1 s is 0.5 %: 0. 12 ms are 1 %.
    text = "driver period_ms=1000\ndevice 0\nseries 0 util 0 100 0.005 0 1 100 1.012 0"
    gpu = truth(text, "0", "3").total.gpu
    assert gpu.busy == ((F(1), F(2)),)
    assert gpu.mean == F(1700, 1000) / 3


def test_a_short_window_has_no_published_peak() -> None:
    gpu = truth("driver period_ms=5000\ndevice 0\nseries 0 util 0 60", "1", "2").total.gpu
    assert [gpu.peak, gpu.mean, gpu.published_mean] == [None, 60, 60]


def test_memory_in_the_arithmetic_of_fusion() -> None:
    # The published sample: one byte count gives both figures, and the peak is whole MiB first.
    text = f"device 0 mem_mib=15360\nseries 0 mem 0 {6460353461 // MIB}.25 5 11388.75 6 0"
    memory = truth(text, "0", "5").total.memory
    assert memory.mean == 6161 * MIB + MIB // 4
    assert memory.mean_mib == 6161
    assert memory.mean_pct == F(100 * memory.mean, 15360 * MIB)
    memory = truth(text, "0", "6").total.memory
    assert (memory.peak_mib, memory.peak_pct) == (11388, F("74.140625"))


def test_polls_see_what_is_there_at_their_moments() -> None:
    # 1000 MiB, 5000 from 1.2 to 1.8 s: polls each second miss it, each 0.5 s see it.
    text = "device 0\nseries 0 mem 0 1000 1.2 5000 1.8 1000"
    seldom, often = (truth(text, "0", "3", step).total.memory for step in ("1", "0.5"))
    assert (seldom.polled_peak, seldom.polled_mean) == (1000 * MIB, 1000 * MIB)
    assert (often.polled_peak, often.polled_mean) == (5000 * MIB, (5 * 1000 + 5000) * MIB // 6)
    assert seldom.peak == often.peak == 5000 * MIB
    assert seldom.mean == (1000 * 3 + 4000 * 6 // 10) * MIB // 3
    assert (seldom.moves, seldom.jumps) == (True, 8000 * MIB)


def test_an_old_driver_counts_what_it_reserves() -> None:
    text = "device 0 reserved_mib=450\nseries 0 mem 2 1000"
    new = truth(text, "1", "3").total.memory
    old = truth(text + "\nhide nvmlDeviceGetMemoryInfo_v2", "1", "3").total.memory
    assert (new.mean, new.peak) == (500 * MIB, 1000 * MIB)
    assert (old.mean, old.peak) == (950 * MIB, 1450 * MIB)


def test_energy_is_the_integral_of_power() -> None:
    text = "device 0\nseries 0 power linear 0 0 10 100"
    total = truth(text, "2", "4").total
    assert [total.energy_mj, total.power_max_w] == [2 * 30 * 1000, 40]
    assert truth("device 0 power_w=0.5", "3", "7").total.energy_mj == 2000


TWO = """
driver period_ms=1000
device 0 mem_mib=1000
device 1 mem_mib=3000
series 0 util 0 80 2 0
series 1 util 1 40 3 0
series 0 mem 0 500 2 100
series 1 mem linear 0 0 4 2000
"""


def test_several_devices_are_folded() -> None:
    both = truth(TWO, "0", "4")
    total = both.total
    assert [one.gpu.mean for one in both.devices] == [40, 20]
    assert [total.gpu.mean, total.gpu.peak] == [30, 80]
    assert total.gpu.busy == ((F(0), F(3)),)  # 0 to 2 and 1 to 3
    assert total.memory.total == 4000 * MIB
    assert total.memory.mean == (300 + 1000) * MIB
    # At 2 s from below: 500 + 1000; at the end: 100 + 2000. Not the sum of the peaks, 2500.
    assert total.memory.peak == 2100 * MIB
    assert total.memory.polled_peak == (100 + 1500) * MIB  # at 3 s; at 1 s: 500 + 500
    assert total.energy_mj == 2 * 4 * 70_000


def test_figures_of_a_lost_device_cover_the_time_before() -> None:
    both = truth(TWO + "lost 0 t=1.5\n", "0", "4")
    assert both.devices[0].gpu.mean == 80
    assert both.devices[0].memory.mean == 500 * MIB
    assert (both.devices[0].lost, both.devices[1].lost, both.total.lost) == (True, False, True)
    assert both.total.gpu.mean == (80 + 20) / F(2)
    assert both.total.memory.peak == 2000 * MIB  # the second alone, at the end
    assert both.devices[0].energy_mj == 105_000


def test_there_is_no_truth_without_a_device_that_answers() -> None:
    with pytest.raises(ValueError, match="never answers"):
        truth("device 0\nlost 0 t=1", "2", "3")
    with pytest.raises(ValueError, match="never answers"):
        truth("driver ring=5", "2", "3")


def test_what_processes_hold_together_is_summed_while_they_live() -> None:
    text = """
    device 0
    proc 0 pid=1 t0=0 t1=2 mem_mib=100
    proc 0 pid=2 t0=1 t1=3 mem_mib=50
    proc 0 pid=3 t0=2 mem_mib=120
    proc 0 pid=9 mem_mib=5000
    """
    [device] = parse_scenario(text).devices
    window = Window(F(0), F(10))
    assert process_peak_bytes(device, window, {"1", "2"}) == 150 * MIB
    assert process_peak_bytes(device, window, {"1", "2", "3"}) == 170 * MIB  # 2 and 3; 1 has ended
    assert process_peak_bytes(device, Window(F(5), F(6)), {"1", "2"}) == 0


numbers = st.integers(min_value=0, max_value=100)
loads = st.lists(st.tuples(st.integers(0, 80), numbers), min_size=1, max_size=8).map(sorted)


@st.composite
def scenarios(draw: st.DrawFn) -> str:
    lines = [f"driver period_ms={draw(st.integers(20, 1500))}"]
    for number in range(draw(st.integers(1, 3))):
        lines.append(f"device {number} mem_mib=100 reserved_mib=0")
        for kind in ("util", "mem"):
            points = " ".join(f"{t / 8} {value}" for t, value in draw(loads))
            linear = draw(st.sampled_from(["", "linear "]))
            lines.append(f"series {number} {kind} {linear}{points}")
    return "\n".join(lines)


def moved(device: Device, by: F) -> Device:
    series = {
        kind: replace(one, points=tuple((t + by, value) for t, value in one.points))
        for kind, one in device.series.items()
    }
    return replace(device, series=series)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start = draw(st.fractions(min_value=0, max_value=8, max_denominator=1000))
    return Window(start, start + draw(st.fractions(F(1, 100), 6, max_denominator=1000)))


@seeded
@given(scenarios(), windows())
def test_publishing_takes_off_less_than_one_percent_and_the_clipped_periods(
    text: str, window: Window
) -> None:
    scenario = parse_scenario(text)
    for one in truth_of(scenario, window).devices:
        ends = 2 * scenario.period / window.length * 100  # the load moves within these two
        assert -1 - ends < one.gpu.published_mean - one.gpu.mean <= ends
        assert 0 <= one.gpu.busy_s <= window.length


@seeded
@given(scenarios(), windows())
def test_over_whole_periods_publishing_only_rounds_down(text: str, window: Window) -> None:
    scenario = parse_scenario(text)
    whole = Window(
        window.start // scenario.period * scenario.period,
        (window.end // scenario.period + 1) * scenario.period,
    )
    for device, one in zip(scenario.devices, truth_of(scenario, whole).devices, strict=True):
        samples = driver_samples(scenario, device, "util", whole)
        assert samples[0].start == whole.start
        assert samples[-1].end == whole.end
        assert one.gpu.mean - 1 < one.gpu.published_mean <= one.gpu.mean
        assert one.gpu.peak == max(sample.pct for sample in samples)


@seeded
@given(scenarios(), windows(), st.fractions(F(1, 100), 3, max_denominator=100))
def test_means_and_polls_never_exceed_the_peak(text: str, window: Window, interval: F) -> None:
    both = truth_of(parse_scenario(text), window, interval=interval)
    for one in (both.total, *both.devices):
        memory = one.memory
        assert 0 <= memory.mean <= memory.peak <= memory.total
        assert memory.polled_mean <= memory.polled_peak <= memory.peak
    peaks = [one.memory.peak for one in both.devices]
    # The least upper bound of each device is rounded down by itself.
    assert max(peaks) - 1 <= both.total.memory.peak <= sum(peaks) + len(peaks)


@seeded
@given(scenarios(), windows(), st.integers(1, 5))
def test_a_shift_of_everything_by_whole_periods_changes_nothing(
    text: str, window: Window, count: int
) -> None:
    scenario = parse_scenario(text)
    by = count * scenario.period
    later = replace(scenario, devices=tuple(moved(device, by) for device in scenario.devices))
    before = truth_of(scenario, window).total
    after = truth_of(later, Window(window.start + by, window.end + by)).total
    assert (before.gpu.mean, before.gpu.published_mean) == (
        after.gpu.mean,
        after.gpu.published_mean,
    )
    assert (before.gpu.peak, before.gpu.busy_s) == (after.gpu.peak, after.gpu.busy_s)
    assert before.memory == after.memory
