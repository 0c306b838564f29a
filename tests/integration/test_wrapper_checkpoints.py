"""When a running trace is replaced, as the replaced files themselves tell."""

from itertools import pairwise
from typing import Any

from helpers.watched import watch
from helpers.wrapper import Wrapper

LATE_MS = 400  # of a busy machine; the schedule itself is tested in virtual time


def test_the_first_checkpoints_come_at_1_2_and_5_seconds(wrapper: Wrapper) -> None:
    """Of a command that sleeps: nothing but the schedule is a reason to write."""
    (wrapper.directory / ".fusion").mkdir()
    traces: list[dict[str, Any]] = []
    with watch(wrapper.directory / ".fusion") as place:
        process = wrapper.start("sleep", "5.6")
        while process.poll() is None and place.wait(10):
            if not (wrapper.directory / ".fusion" / "trace.json").exists():
                continue
            trace = wrapper.trace()
            if traces == [] or trace["probe"]["written_ms"] != traces[-1]["probe"]["written_ms"]:
                traces.append(trace)
        process.communicate(timeout=30)
    states = [trace["probe"]["state"] for trace in traces]
    assert states == ["running"] * 4 + ["final"]
    ages = [trace["proc"]["realtime"] for trace in traces]
    for age, due in zip(ages, (0, 1000, 2000, 5000, 5600), strict=True):
        assert due <= age <= due + LATE_MS
    for before, after in pairwise(traces):
        assert after["probe"]["samples"] >= before["probe"]["samples"]
        assert after["probe"]["run_id"] == before["probe"]["run_id"]
