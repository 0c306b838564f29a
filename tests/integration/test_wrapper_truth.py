"""Reduced loads of known truth; benchmarks/truth.py runs them at full size."""

import re
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper
from truth import OWN, Place, measure, own_is_permitted, under_a_launcher
from truth_loads import BELOW, EXACT, Load, Outcome

OFTEN = ("--interval", "100ms")
TICK_MS = 10

LOADS = (
    Load(
        title="CPU of short grandchildren",
        words=("cpu", "200", "1000"),
        default=lambda o: [o.cpu()],
        own=lambda o: [o.cpu(), o.group_cpu()],
    ),
    Load(
        title="a spike in a grandchild",
        words=("spike", "400", "20"),
        default=lambda o: [o.peak(400)],
        own=lambda o: [o.peak(400)],
    ),
    Load(
        title="siblings at once",
        words=("siblings", "200", "400", "0"),
        default=lambda o: [o.peak(400)],
        own=lambda o: [o.group_peak(400)],
    ),
    Load(
        title="bytes of short children",
        words=("io", "file", "4"),
        default=lambda o: [*o.counts()],
        own=lambda o: [*o.counts()],
    ),
    Load(
        title="a daemon that ends first",
        words=("daemon", "300", "16", "ends"),
        default=lambda o: [o.cpu()],
        own=lambda o: [o.group_cpu()],
    ),
    Load(
        title="readers of shared pages",
        words=("readers", "200", "2", "400"),
        default=lambda o: [o.peak(600)],  # each page three times: documented, not right
        own=lambda o: [o.group_peak(200, "memory_peak_rss")],
    ),
)


@pytest.fixture
def place(wrapper: Wrapper, truth: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(wrapper.directory)
    return Place(gpu_probe=Path(wrapper.entry[0]), truth=truth, directory=wrapper.directory)


@pytest.fixture
def own_place(place: Place) -> Place:
    if not own_is_permitted(place):
        pytest.skip("no permission to make control groups")
    return place


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.title)
def test_figures_are_those_of_the_load(place: Place, load: Load) -> None:
    findings = load.default(measure(place, load, OFTEN))
    assert [finding for finding in findings if finding.missed] == []


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.title)
def test_figures_in_an_own_group_are_those_of_the_load(own_place: Place, load: Load) -> None:
    findings = load.own(measure(own_place, load, (*OFTEN, *OWN)))
    assert [finding for finding in findings if finding.missed] == []


def test_a_daemon_that_stays_counts_to_the_tick_and_is_flagged(place: Place) -> None:
    load = Load(title="", words=("daemon", "300", "16", "stays"), default=lambda o: [o.cpu()])
    outcome = measure(place, load, OFTEN)
    [cpu] = load.default(outcome)
    assert -2 * TICK_MS - 3 < cpu.ours - cpu.truth < 3  # user and system time, each cut off
    assert any(re.match("proc: 1 process.* outlived", n) for n in outcome.trace["probe"]["notes"])


def test_switches_of_threads_are_exact(place: Place) -> None:
    load = Load(title="", words=("switches", "4", "50"), default=lambda o: [*o.switches()])
    voluntary, involuntary = load.default(measure(place, load, ()))
    assert voluntary.truth >= 4 * 50
    assert voluntary.ours == voluntary.truth
    # the load may lose the CPU once more after it has looked for the last time
    assert 0 <= involuntary.ours - involuntary.truth <= 2


def test_the_memory_of_a_launcher_itself_is_not_measured(place: Place) -> None:
    [peak] = under_a_launcher(place)
    assert peak.demand is BELOW
    assert not peak.missed


def test_a_figure_that_is_off_is_a_miss() -> None:
    proc = {"pct_cpu": 1000, "realtime": 1011, "peak_rss": 102 * 1024, "rchar": 1}
    outcome = Outcome(
        truth={"cpu_usec": 1_000_000},
        trace={"proc": {**proc, "wchar": 2, "syscr": 3, "syscw": 4}},
        bare={"rchar": 1, "wchar": 2, "syscr": 3, "syscw": 5},
    )
    assert outcome.cpu().missed
    assert outcome.peak(100).missed
    assert not outcome.peak(101).missed
    assert outcome.peak(100, BELOW).missed
    assert [finding.missed for finding in outcome.counts()] == [False, False, False, True]
    assert {finding.demand for finding in outcome.counts()} == {EXACT}
