"""Ten thousand tasks and a server that fails one call in twenty."""

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from collector.platform import PlatformSink, RetryPolicy, Settings, Spool, new_run
from collector.record import TraceRecord
from helpers.builders import gpu_block, record
from helpers.platform_server import TOKEN, Fault, PlatformDouble, platform_double

TASKS = 10_000
FAULTS = (
    Fault(status=503),
    Fault(status=429),
    Fault(status=500, after=True),
    Fault(kind="drop"),
    Fault(kind="drop", after=True),
    Fault(kind="half"),
    Fault(kind="half", after=True),
)


def end_of(number: int) -> str:
    return ("COMPLETED", "COMPLETED", "FAILED", "ABORTED")[number % 4]


def records() -> Iterator[TraceRecord]:
    """Each task twice, as a running tree shows it: while it runs, and ended."""
    for number in range(TASKS + 150):
        if number < TASKS:
            yield task(number, "RUNNING")
        if number >= 150:
            yield task(number - 150, end_of(number - 150))


def task(number: int, status: str) -> TraceRecord:
    fields = {
        "hash": f"{number:08x}",
        "name": f"p ({number})",
        "process": f"p{number % 7}",
        "workdir": f"/w/{number >> 120:02x}/{number:030x}",
        "status": status,
    }
    return record(fields, gpu=gpu_block(pct=number % 101, serial=number))


@pytest.mark.parametrize("seed", [1, 2])
def test_10_000_tasks_and_a_call_in_twenty_that_fails_every_task_once_in_its_last_state(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    with platform_double() as double:
        double.script = lambda _call, _number: (
            chance.choice(FAULTS) if chance.random() < 0.05 else None
        )
        settings = Settings(endpoint=double.endpoint, token=TOKEN)
        run = new_run("many", settings, command=["c"], directories=[tmp_path])
        policy = RetryPolicy(delay_s=0.01)
        with closing(Spool.open(tmp_path / "s", secret=TOKEN, new=run)) as spool:
            sink = PlatformSink(spool, settings, policy=policy)
            sink.write(records())
            outcome = sink.finish()

        assert outcome.failure is None
        assert (outcome.sent, outcome.kept, outcome.rejected) == (TASKS, 0, 0)
        tasks = double.run.tasks
        assert len(tasks) == TASKS
        assert set(double.run.ends.values()) == {1}
        for sent in tasks.values():
            number = int(sent["hash"], 16)
            assert sent["status"] == end_of(number)
            assert sent["gpuMetrics"]["serial"] == number
        assert double.run.completed
        failed = [made for made in double.calls if made.call == "progress"]
        assert len(failed) > 100
        assert max(len(made.body["tasks"]) for made in failed) == 100
        progress = double.bodies("complete")[-1]["progress"]
        assert (progress["succeeded"], progress["failed"], progress["aborted"]) == (
            TASKS // 2,
            TASKS // 4,
            TASKS // 4,
        )
        assert len(double.run.metrics) == 7


@contextmanager
def slow_sink(double: PlatformDouble, directory: Path) -> Iterator[PlatformSink]:
    """A sink for a source that takes its time."""
    settings = Settings(endpoint=double.endpoint, token=TOKEN)
    run = new_run("slow", settings, command=["c"], directories=[directory])
    with closing(Spool.open(directory / "s", secret=TOKEN, new=run)) as spool:
        yield PlatformSink(spool, settings)


def test_3_6_while_nothing_happens_the_server_hears_that_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.platform.window._ALIVE_INTERVAL_S", 0.05)
    heard = threading.Event()

    def script(call: str, _number: int) -> None:
        if call == "heartbeat":
            heard.set()

    def source() -> Iterator[TraceRecord]:
        yield task(1, "RUNNING")
        assert heard.wait(30)
        yield task(1, "COMPLETED")

    with platform_double() as double:
        double.script = script
        with slow_sink(double, tmp_path) as sink:
            sink.write(source())
            assert sink.finish().failure is None
    assert double.bodies("heartbeat")[0]["progress"]["running"] == 1
    assert double.run.tasks[1]["status"] == "COMPLETED"


def test_3_6_a_task_is_sent_while_the_next_one_is_awaited(tmp_path: Path) -> None:
    """The source is still at work: only time can be the reason that the first task is sent."""
    arrived = threading.Event()

    def script(call: str, _number: int) -> None:
        if call == "progress":
            arrived.set()

    def source() -> Iterator[TraceRecord]:
        yield task(1, "COMPLETED")
        assert arrived.wait(30)
        yield task(2, "COMPLETED")

    with platform_double() as double:
        double.script = script
        with slow_sink(double, tmp_path) as sink:
            assert sink.write(source()) == 2
            assert sink.finish().sent == 2
    assert [len(body["tasks"]) for body in double.bodies("progress")] == [1, 1]
