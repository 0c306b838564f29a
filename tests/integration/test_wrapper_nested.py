"""Wrappers within wrappers: one stands aside only for its own file's sake."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, collect_task
from helpers.wrapper import Wrapper

# Waits for all, as mpirun and srun do, and starts each with its rank.
LAUNCHER = """
n=$1; shift
for i in $(seq 0 $((n - 1))); do RANK=$i WORLD_SIZE=$n "$@" & done
wait
"""


def traces_in(wrapper: Wrapper) -> dict[str, dict[str, Any]]:
    files = sorted((wrapper.directory / ".fusion").iterdir())
    return {path.name: json.loads(path.read_bytes()) for path in files}


def rank_name(rank: int) -> str:
    return f"trace.{rank}.{os.uname().nodename.replace('.', '_')}.json"


def test_an_outer_trace_of_another_name_is_no_reason_to_stand_aside(wrapper: Wrapper) -> None:
    named = ["--trace-file", str(wrapper.directory / ".fusion" / "x.json")]
    (wrapper.directory / ".fusion").mkdir()
    for _ in range(2):  # the second time over what the first one left
        done = wrapper.run(*wrapper.command("sh", "-c", "exit 3"), options=named)
        assert done.returncode == 3
        found = traces_in(wrapper)
        assert list(found) == ["trace.json", "x.json"]
        outer, inner = found["x.json"]["probe"], found["trace.json"]["probe"]
        assert outer["pid"] != inner["pid"]
        assert inner["within"] == outer["run_id"]
        assert (outer["exit"], inner["exit"]) == (3, 3)


def test_a_copy_in_that_directory_is_not_the_trace_either(wrapper: Wrapper, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fusion = wrapper.directory / ".fusion"
    copies = ["--workdir", str(elsewhere), "--copy-to", str(fusion)]
    wrapper.run(*wrapper.command("true"), options=copies)
    assert (fusion / "trace.json").exists()


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_within_one_wrapper_have_traces_of_their_own(wrapper: Wrapper, ranks: int) -> None:
    inner = wrapper.command("head", "-c", "1000", "/dev/zero")
    for _ in range(2):
        wrapper.run("sh", "-c", LAUNCHER, "sh", str(ranks), *inner)
        found = traces_in(wrapper)
        outer = found.pop("trace.json")
        assert list(found) == [rank_name(i) for i in range(ranks)]
        assert {trace["probe"]["within"] for trace in found.values()} == {outer["probe"]["run_id"]}
        assert [trace["proc"]["wchar"] for trace in found.values()] == [1000] * ranks
        record = collect_task(wrapper.directory, CollectOptions(fusion="on"))
        assert record["wchar"] == outer["proc"]["wchar"] >= 1000 * ranks  # once


def test_within_a_rank_a_wrapper_stands_aside(wrapper: Wrapper) -> None:
    both = wrapper.command(*wrapper.command("true"))
    wrapper.run(*both, RANK="1", WORLD_SIZE="2")
    assert list(traces_in(wrapper)) == [rank_name(1)]
    wrapper.run("sh", "-c", LAUNCHER, "sh", "2", *both)
    assert list(traces_in(wrapper)) == [rank_name(0), rank_name(1), "trace.json"]


def test_beside_fusion_a_nested_wrapper_stands_aside(wrapper: Wrapper) -> None:
    wrapper.run(*wrapper.command("true"), FUSION_WORK="/fusion/x")
    assert list(traces_in(wrapper)) == ["gpu-probe.json"]


def test_a_lock_of_somebody_else_does_not_keep_it(wrapper: Wrapper) -> None:
    fusion = wrapper.directory / ".fusion"
    fusion.mkdir()
    directory = os.open(fusion, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        wrapper.run(*wrapper.command("true"))
    finally:
        os.close(directory)
    assert list(traces_in(wrapper)) == ["trace.json"]
