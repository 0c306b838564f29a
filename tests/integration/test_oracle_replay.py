"""Drawn tasks in virtual time: what our code says is what the oracle says, to the last digit.

Two programs that share nothing but the documentation, on scenarios that nobody chose.
"""

import random
from collections.abc import Sequence
from fractions import Fraction as F
from itertools import pairwise
from math import floor
from typing import Any

import pytest

from helpers.replay import Replay
from oracle import Figures, Scenario, Series, Truth, Window, parse_scenario, truth_of

MIB = 1 << 20
TOTAL_MIB = 16000


def drawn_series(draw: random.Random, top: int) -> str:
    """Draw some points within two minutes."""
    times = sorted(draw.randrange(120_000) for _ in range(draw.randrange(1, 25)))
    linear = draw.choice(["", "linear "])
    return linear + " ".join(f"{t / 1000} {draw.choice([0, draw.randint(0, top)])}" for t in times)


def drawn_scenario(draw: random.Random, clocks: Sequence[str]) -> str:
    """Draw a driver and its devices; the ring lasts from one reading to the next."""
    lines = [
        f"driver period_ms={draw.choice([100, 167, 200, 250, 1000])} ring=72"
        f" clock={draw.choice(clocks)}"
        f" order={draw.choice(['ascending', 'descending'])}"
    ]
    for number in range(draw.randint(1, 4)):
        lines.append(f"device {number} mem_mib={TOTAL_MIB} reserved_mib={draw.randrange(500)}")
        for kind, top in (("util", 100), ("memutil", 100), ("mem", 15000), ("power", 400)):
            lines.append(f"series {number} {kind} {drawn_series(draw, top)}")
    if draw.random() < 0.3:
        lines.append("hide nvmlDeviceGetMemoryInfo_v2")
    return "\n".join(lines) + "\n"


def published(scenario: Scenario, task: Window) -> Truth:
    """Give the truth up to the last period that the driver published during the task."""
    return truth_of(scenario, Window(task.start, task.end // scenario.period * scenario.period))


def rounds_to(figure: int, exact: F) -> bool:
    return abs(figure - exact) <= F(1, 2) + F(1, 10**9)


def polled_bytes(scenario: Scenario, index: int, at: F) -> int:
    device = scenario.devices[index]
    reserved = 0 if scenario.memory_v2 else device.reserved_bytes
    return floor(device.over_time("mem").at(at) * MIB) + reserved


def counted_mj(power: Series, at: F) -> int:
    """Give what the counter shows: whole mJ, as of the last full 100 ms."""
    return floor(1000 * power.integral(F(0), at * 10 // 1 / F(10)))


def check_utilization(figures: dict[str, Any], truth: Figures) -> None:
    assert rounds_to(figures["pct"], truth.gpu.published_mean)
    assert rounds_to(figures["avg_mem_bw_util"], truth.controller.published_mean)
    assert figures["peak"] == truth.gpu.peak
    assert figures["peak_mem_bw_util"] == truth.controller.peak
    assert figures["active_time"] == floor(1000 * truth.gpu.busy_s)


def check_memory(figures: dict[str, Any], scenario: Scenario, task: Window) -> None:
    """Straight from poll to poll, the last one at the end; percent to a byte for each device."""
    polls = [*task.polls(F(1)), task.end]
    count = len(scenario.devices)
    sums = [sum(polled_bytes(scenario, i, t) for i in range(count)) for t in polls]
    area = sum(
        (F(a + b, 2) * (after - before))
        for (a, b), (before, after) in zip(pairwise(sums), pairwise(polls), strict=True)
    )
    in_pct = F(100, count * TOTAL_MIB * MIB)
    assert abs(figures["pct_mem"] - area / task.length * in_pct) <= 2 * count * in_pct
    assert figures["peak_mem_used"] == max(sums) >> 20


def drawn_task(draw: random.Random) -> Window:
    start, seconds = F(draw.randrange(1000, 60_000), 1000), F(draw.randrange(5000, 60_000), 1000)
    return Window(start, start + seconds)


def run(replay: Replay, text: str, task: Window) -> dict[str, Any]:
    gpu = replay.run(text, start_s=float(task.start), seconds=float(task.length))["gpu"]
    assert isinstance(gpu, dict)
    return gpu


@pytest.mark.parametrize("seed", range(60))
def test_a_drawn_task_reads_as_the_oracle_says(replay: Replay, seed: int) -> None:
    draw = random.Random(seed)
    text, task = drawn_scenario(draw, ["epoch", "boot"]), drawn_task(draw)
    gpu, scenario = run(replay, text, task), parse_scenario(text)
    truth = published(scenario, task)
    check_utilization(gpu, truth.total)
    check_memory(gpu, scenario, task)
    for device, one, figures in zip(scenario.devices, truth.devices, gpu["devices"], strict=True):
        check_utilization(figures, one)
        power = device.over_time("power")
        energy_mj = counted_mj(power, task.end) - counted_mj(power, task.start)
        assert figures["energy_mj"] == energy_mj


@pytest.mark.parametrize("seed", range(20))
def test_a_clock_that_nobody_else_has_shifts_a_task_by_a_period_at_most(
    replay: Replay, seed: int
) -> None:
    """When the newest sample was taken, is then known from its being the newest only."""
    draw = random.Random(seed)
    text, task = drawn_scenario(draw, ["relative"]), drawn_task(draw)
    gpu, scenario = run(replay, text, task), parse_scenario(text)
    truth = published(scenario, task).total.gpu
    period = scenario.period
    assert abs(gpu["pct"] - truth.published_mean) <= F(1, 2) + 200 * period / task.length
    bursts = 2 * len(truth.busy)
    assert abs(gpu["active_time"] / 1000 - truth.busy_s) <= max(bursts, 2) * period
