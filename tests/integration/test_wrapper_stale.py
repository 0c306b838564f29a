"""No older trace passes for that of the run which has just ended."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from collector.collect import CollectOptions, collect_task
from helpers.places import fill, rescued
from helpers.wrapper import Wrapper


def names_in(wrapper: Wrapper) -> list[str]:
    return sorted(path.name for path in (wrapper.directory / ".fusion").iterdir())


def test_a_trace_that_a_full_disk_does_not_let_be_replaced_goes(
    wrapper: Wrapper, small_disk: Path, spare: Path
) -> None:
    wrapper.run("true", options=["--timeline"])
    fill(small_disk)
    done = wrapper.run("sh", "-c", "exit 3", TMPDIR=str(spare))
    assert done.returncode == 3
    assert names_in(wrapper) == []
    assert json.loads(rescued(spare).read_bytes())["probe"]["exit"] == 3
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr
    assert str(rescued(spare)) in done.stderr


@pytest.mark.parametrize("quiet", [False, True])
def test_a_place_that_nobody_named_and_that_fails_is_worth_a_line(
    wrapper: Wrapper, spare: Path, quiet: bool
) -> None:
    (wrapper.directory / ".fusion").write_text("")
    command = [*wrapper.entry, *(["--quiet"] if quiet else []), "true"]
    done = subprocess.run(
        command,
        cwd=wrapper.directory,
        env=os.environ | {"TMPDIR": str(spare)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.count("\n") == (0 if quiet else 1)
    assert quiet or str(rescued(spare)) in done.stderr


def test_without_any_place_the_line_says_that_there_is_none(
    wrapper: Wrapper, tmp_path: Path
) -> None:
    (wrapper.directory / ".fusion").write_text("")
    done = wrapper.run("true", TMPDIR=str(tmp_path / "missing"))
    assert done.stderr.endswith("; there is no final trace\n")


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [("no-such-command-anywhere", 127, "No such file"), ("/dev/null", 126, "Permission denied")],
)
def test_a_command_that_cannot_be_executed_has_a_trace(
    wrapper: Wrapper, command: str, status: int, reason: str
) -> None:
    wrapper.run("true", options=["--timeline"])
    done = wrapper.run(command, options=["--timeline"])
    assert done.returncode == status
    assert done.stderr.startswith(f"gpu-probe: {command}: {reason}")
    assert names_in(wrapper) == ["trace.json"]
    trace = wrapper.trace()
    assert (trace["probe"]["state"], trace["probe"]["exit"]) == ("final", status)
    assert trace["probe"]["notes"][0].startswith("the command could not be executed: ")
    assert trace["proc"]["realtime"] < 1000
    measured = {"arch", "cpu_name", "realtime"}
    assert {value for key, value in trace["proc"].items() if key not in measured} == {0}
    assert "gpu" not in trace
    assert "cgroup" not in trace
    record = collect_task(wrapper.directory, CollectOptions(fusion="on"))
    assert (record["status"], record["exit"]) == ("FAILED", status)


@pytest.mark.parametrize("mode", ["auto", "own", "shared"])
def test_so_it_has_with_groups_and_a_gpu(gpu_wrapper: Wrapper, mode: str) -> None:
    done = gpu_wrapper.run("no-such-command-anywhere", options=["--cgroup", mode])
    assert done.returncode == 127
    trace = gpu_wrapper.trace()
    assert trace["probe"]["exit"] == 127
    assert "cgroup" not in trace


def test_a_timeline_of_an_earlier_run_goes_with_its_trace(wrapper: Wrapper) -> None:
    wrapper.run("true", options=["--timeline"])
    assert names_in(wrapper) == ["timeline.json", "trace.json"]
    wrapper.run("true")
    assert names_in(wrapper) == ["trace.json"]


@pytest.mark.parametrize("text", ["[1]", '{"schema": 1}', "not JSON"])
def test_a_timeline_of_somebody_elses_stays(wrapper: Wrapper, text: str) -> None:
    (wrapper.directory / ".fusion").mkdir()
    (wrapper.directory / ".fusion" / "timeline.json").write_text(text)
    wrapper.run("true")
    assert (wrapper.directory / ".fusion" / "timeline.json").read_text() == text


def test_a_timeline_that_belongs_to_another_trace_stays(wrapper: Wrapper, tmp_path: Path) -> None:
    named = ["--trace-file", str(tmp_path / "a.json")]
    wrapper.run("true", options=[*named, "--timeline"])
    wrapper.run("true", options=["--trace-file", str(tmp_path / "b.json")])
    assert (tmp_path / "a.timeline.json").exists()
    wrapper.run("true", options=named)
    assert not (tmp_path / "a.timeline.json").exists()
