"""`gpu-probe --check` and a real run say the same of one place."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helpers.wrapper import Wrapper

Rows = dict[str, dict[str, Any]]
FOREIGN = '{"proc": {"realtime": 5}}\n'
HOST = os.uname().nodename.replace(".", "_")


def rows_of(out: str) -> Rows:
    return {f"{row['block']}.{row['key']}": row for row in json.loads(out)["checks"]}


def check(wrapper: Wrapper, *options: str, **variables: str) -> Rows:
    done = subprocess.run(
        [*wrapper.entry, "--workdir", str(wrapper.directory), "--check", "--json", *options],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return rows_of(done.stdout)


def without_pid(name: str) -> str:
    return re.sub(r"\.\d+\.json$", ".PID.json", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What lies in the directory, who writes there, and the name that is expected."""

    name: str
    source: str
    files: Sequence[str] = ()
    writers: int = 0
    dead: int = 0
    options: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict)


SITUATIONS = {
    "nothing there": Situation(name="trace.json", source="standard"),
    "a finished one": Situation(name="trace.json", source="standard", dead=1),
    "a writer": Situation(name=f"trace.{HOST}.json", source="another_writer", writers=1),
    "two writers": Situation(name=f"trace.{HOST}.PID.json", source="process_id", writers=2),
    "a rank": Situation(
        name=f"trace.7.3.{HOST}.json",
        source="rank",
        variables={"SLURM_JOB_ID": "7", "SLURM_PROCID": "3", "SLURM_NTASKS": "8"},
    ),
    "an element of an array": Situation(
        name=f"trace.7.12.{HOST}.json",
        source="rank",
        variables={"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "12"},
    ),
    "Fusion": Situation(
        name="gpu-probe.json", source="beside", variables={"FUSION_WORK": "/fusion/x"}
    ),
    "a foreign trace": Situation(name="gpu-probe.json", source="beside", files=["trace.json"]),
    "both foreign": Situation(
        name=f"trace.{HOST}.PID.json",
        source="process_id",
        files=["trace.json", "gpu-probe.json"],
    ),
    "a name of the user's": Situation(name="x.json", source="option", options=["x.json"]),
    "a foreign one of that name": Situation(
        name="x.gpu-probe.json", source="beside", files=["x.json"], options=["x.json"]
    ),
}


@contextmanager
def arranged(wrapper: Wrapper, situation: Situation) -> Iterator[list[str]]:
    """Make the situation; give the options."""
    fusion = wrapper.directory / ".fusion"
    fusion.mkdir()
    for name in situation.files:
        (fusion / name).write_text(FOREIGN)
    for _ in range(situation.dead):
        wrapper.run("true")
    with ExitStack() as ends:
        for count in range(situation.writers):
            process = ends.enter_context(wrapper.start("sh", "-c", "read line"))
            ends.callback(process.communicate, "\n", 30)
            while len(list(fusion.glob("*.json"))) <= count:
                os.sched_yield()
        yield [word for name in situation.options for word in ("--trace-file", str(fusion / name))]


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS.keys())
def test_the_name_of_the_trace(wrapper: Wrapper, situation: Situation) -> None:
    fusion = wrapper.directory / ".fusion"
    with arranged(wrapper, situation) as options:
        before = sorted(fusion.iterdir())
        rows = check(wrapper, *options, **situation.variables)
        assert sorted(fusion.iterdir()) == before
        process = wrapper.start("true", options=options, **situation.variables)
        process.communicate(timeout=30)
        files = {path.name: json.loads(path.read_bytes()) for path in fusion.iterdir()}
    written = [n for n, t in files.items() if t.get("probe", {}).get("pid") == process.pid]
    assert [without_pid(name) for name in written] == [situation.name]
    assert without_pid(Path(rows["trace.file"]["detail"]).name) == situation.name
    assert rows["trace.name"]["source"] == situation.source
    assert rows["trace.name"]["detail"]


def test_within_a_wrapper_there_is_no_trace(wrapper: Wrapper) -> None:
    place = ["--workdir", str(wrapper.directory)]
    done = wrapper.run(*wrapper.entry, *place, "--check", "--json")
    row = rows_of(done.stdout)["trace.file"]
    assert not row["ok"]
    assert "only execute COMMAND" in row["reason"]
    assert row["next_step"] is None
    wrapper.run(*wrapper.entry, *place, "--", "true")
    assert [path.name for path in (wrapper.directory / ".fusion").iterdir()] == ["trace.json"]


@contextmanager
def lonely_shell() -> Iterator[list[str]]:
    """Words before a command that put it into a new control group, with nobody else in it."""
    root = Path("/sys/fs/cgroup")
    group = (
        root / "memory" if (root / "memory").is_dir() else root
    ) / f"gpu-probe-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not any((group / name).exists() for name in ("memory.current", "memory.stat")):
            pytest.skip("a new control group has no memory figures here")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        group.rmdir()


@pytest.mark.parametrize("alone", [False, True], ids=["shared group", "new group"])
@pytest.mark.parametrize("mode", ["auto", "own", "shared", "off"])
def test_the_cgroup_block(wrapper: Wrapper, mode: str, alone: bool) -> None:
    with ExitStack() as ends:
        words = ends.enter_context(lonely_shell()) if alone else []
        entered = Wrapper(entry=[*words, *wrapper.entry], directory=wrapper.directory)
        rows = check(entered, "--cgroup", mode)
        entered.run("sleep", "0.1", options=["--cgroup", mode])
    trace = wrapper.trace()
    block = trace.get("cgroup", {})
    absent = set(trace["probe"]["unavailable"])
    told = {
        key: row["ok"]
        for key, row in rows.items()
        if key.startswith("cgroup.") and key not in ("cgroup.own", "cgroup.group")
    }
    assert told == {key: key.removeprefix("cgroup.") in block and key not in absent for key in told}
    assert rows["cgroup.group"]["ok"] == bool(block)
    refused = "\n".join(trace["probe"].get("notes", []))
    if mode == "own":
        assert rows["cgroup.own"]["ok"] == ("no group of its own" not in refused)
    if mode == "auto" and not block:
        reason = rows["cgroup.group"]["reason"]
        assert reason.removeprefix("left out: ") in refused or "visible" in reason


def groups() -> set[Path]:
    return {Path(path) for path, _, _ in os.walk("/sys/fs/cgroup") if "gpu-probe." in path}


def test_an_own_group_is_made_and_gone(wrapper: Wrapper) -> None:
    before = groups()
    row = check(wrapper)["cgroup.own"]
    assert groups() == before
    if not row["ok"]:
        assert row["reason"]
        assert row["next_step"]
