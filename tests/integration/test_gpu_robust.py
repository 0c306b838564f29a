"""The driver hangs or crashes in each function in turn: the task goes on, and its data stay.

In real time, because what is shown is that nothing waits. The functions are those that a normal
run calls, so that a new call is covered by itself.
"""

import concurrent.futures
import itertools
import os
import statistics
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.replay import parse_call
from helpers.wrapper import Wrapper, read_trace

TASK_S = 1.3
LATE_S = 0.25  # the most that a task may end later than bare
TRIES = 4  # a miss may be this machine's
AT_ONCE = 8
OLD_S = 60  # the driver's age at the start of a task
BUSY = "device 0\nseries 0 util 0 60\nseries 0 mem 0 4000\n"
# The last words of a command are the time at which it ends.
SCRIPT = f"sleep {TASK_S}; date +%s%N; exit 7"
LOST = "device 0 (GPU-6d6f636b-0000-4000-8000-000000000000) was lost during the task"
MEMORY = "nvmlDeviceGetMemoryInfo_v2"  # the first reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What the driver does in a function, from a time since the start of the task on."""

    kind: str
    function: str
    from_s: float

    @property
    def line(self) -> str:
        return f"{self.kind} {self.function} from={OLD_S + self.from_s}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    late_s: float  # from the end of the command to that of the wrapper
    trace: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where tasks run: each in a directory of its own."""

    wrapper: Path
    library: Path
    directory: Path
    numbers: "itertools.count[int]"

    def run(self, scenario: str, **variables: str) -> Outcome:
        """Run the task under the wrapper."""
        directory = self.directory / str(next(self.numbers))
        directory.mkdir()
        (directory / "scenario.txt").write_text(scenario)
        wrapper = Wrapper(entry=[str(self.wrapper)], directory=directory)
        options = ["--nvml-library", str(self.library), "--quiet"]
        late_s = lateness(
            wrapper.command("sh", "-c", SCRIPT, options=options),
            NVMLMOCK_SCENARIO=str(directory / "scenario.txt"),
            NVMLMOCK_T0=str(time.monotonic_ns() - OLD_S * 10**9),
            **variables,
        )
        return Outcome(late_s=late_s, trace=read_trace(directory))

    def failing(self, fault: Fault, bare_s: float) -> Outcome:
        """Run it with a fault, again if it ended late; return the last outcome."""
        for _ in range(TRIES):
            outcome = self.run(BUSY + fault.line)
            if outcome.late_s <= bare_s + LATE_S:
                break
        return outcome


def lateness(command: list[str], **variables: str) -> float:
    """Run a command that prints its end's time; return how much later it was over, in seconds."""
    done = subprocess.run(
        command,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    over_ns = time.time_ns()
    assert done.returncode == 7
    return (over_ns - int(done.stdout)) / 1e9


def all_at_once(bench: Bench, faults: Iterable[Fault]) -> dict[Fault, Outcome]:
    """Run the task once for each fault."""
    bare_s = statistics.median(lateness(["sh", "-c", SCRIPT]) for _ in range(3))
    listed = list(faults)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(lambda fault: bench.failing(fault, bare_s), listed))
    late = {
        fault.line: outcome.late_s - bare_s
        for fault, outcome in zip(listed, outcomes, strict=True)
        if outcome.late_s > bare_s + LATE_S
    }
    assert late == {}
    return dict(zip(listed, outcomes, strict=True))


@pytest.fixture
def bench(gpu_probe: Path, mock_library: Path, tmp_path: Path) -> Bench:
    return Bench(
        wrapper=gpu_probe, library=mock_library, directory=tmp_path, numbers=itertools.count()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The functions of a normal run, in the order of their first calls."""

    all: list[str]
    amid: list[str]  # called between the first readings and the last ones
    last: list[str]


@pytest.fixture
def asked(bench: Bench) -> Asked:
    log = bench.directory / "calls.log"
    bench.run(BUSY, NVMLMOCK_LOG=str(log))
    calls = [
        (call.at_s - OLD_S, call.function) for call in map(parse_call, log.read_text().splitlines())
    ]
    distinct = [
        list(dict.fromkeys(function for at_s, function in calls if begin <= at_s < end))
        for begin, end in ((-1, 99), (0.4, TASK_S - 0.05), (TASK_S - 0.05, 99))
    ]
    everything, amid, last = distinct
    assert MEMORY in everything
    assert MEMORY in last
    return Asked(all=everything, amid=amid, last=last)


def expect_figures(trace: dict[str, Any]) -> None:
    assert (trace["gpu"]["pct"], trace["gpu"]["avg_mem"]) == (60, 4000)


def test_a_hang_in_any_first_call_costs_no_time(bench: Bench, asked: Asked) -> None:
    outcomes = all_at_once(
        bench, [Fault(kind="hang", function=name, from_s=-1) for name in asked.all]
    )
    shown_from = asked.all.index(MEMORY) + 1
    for fault, outcome in outcomes.items():
        if fault.function in asked.all[shown_from:]:
            assert outcome.trace["gpu"]["avg_mem"] == 4000, fault
        elif fault.function not in ("nvmlDeviceGetSamples", "nvmlEventSetWait_v2"):
            assert "gpu" not in outcome.trace, fault


def test_a_hang_in_any_call_amid_the_task_leaves_what_was_read(bench: Bench, asked: Asked) -> None:
    faults = [Fault(kind="hang", function=name, from_s=0.75) for name in asked.amid]
    for outcome in all_at_once(bench, faults).values():
        expect_figures(outcome.trace)


def test_a_hang_in_any_last_call_leaves_what_was_read(bench: Bench, asked: Asked) -> None:
    faults = [Fault(kind="hang", function=name, from_s=TASK_S - 0.1) for name in asked.last]
    for outcome in all_at_once(bench, faults).values():
        expect_figures(outcome.trace)


def test_a_crash_of_the_library_leaves_what_was_read(bench: Bench, asked: Asked) -> None:
    begin = [
        Fault(kind="crash", function=name, from_s=-1) for name in ("nvmlInit_v2", asked.all[-1])
    ]
    later = [
        Fault(kind="crash", function=name, from_s=from_s)
        for name in (MEMORY, "nvmlDeviceGetSamples")
        for from_s in (0.75, TASK_S - 0.1)
    ]
    outcomes = all_at_once(bench, begin + later)
    assert "gpu" not in outcomes[begin[0]].trace
    for fault in later:
        expect_figures(outcomes[fault].trace)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (f"lost 0 t={OLD_S + 0.75}", LOST),
        (f"unload t={OLD_S + 0.75}", "the driver stopped answering during the task"),
    ],
)
def test_a_loss_amid_the_task_leaves_what_was_read(bench: Bench, line: str, note: str) -> None:
    trace = bench.run(f"{BUSY}{line}\n").trace
    expect_figures(trace)
    [device] = trace["gpu"]["devices"]
    assert 750 <= device["lost_at_ms"] <= 2000
    assert note in trace["probe"]["notes"]
