"""Where the trace goes when others write there too."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from collector.collect import CollectOptions, collect_task
from helpers.wrapper import Wrapper

FOREIGN = b'{"proc": {"realtime": 5}, "gpu": {"pct": 3}}\n'


def fusion_of(wrapper: Wrapper) -> Path:
    return wrapper.directory / ".fusion"


def traces_in(wrapper: Wrapper) -> dict[str, dict[str, Any]]:
    files = sorted(fusion_of(wrapper).iterdir())
    return {path.name: json.loads(path.read_bytes()) for path in files}


def writers_in(wrapper: Wrapper) -> set[int]:
    """Of the traces, while files of other names may come and go."""
    found = fusion_of(wrapper).glob("trace*.json")
    return {json.loads(path.read_bytes())["probe"]["pid"] for path in found}


def mark(path: Path) -> tuple[bytes, int, int]:
    at = path.stat()
    return path.read_bytes(), at.st_mtime_ns, at.st_ino


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("between", [[], ["sh", "-c", '"$@"; exit $?', "sh"]])
def test_a_nested_wrapper_stands_aside(
    wrapper: Wrapper, gpu_probe: Path, between: list[str], again: bool
) -> None:
    inner = [str(gpu_probe), "--workdir", str(wrapper.directory), "--summary", "--"]
    for _ in range(1 + again):
        script = "echo $PPID $(sed -n 's/^PPid:.//p' /proc/$PPID/status) $$; exit 3"
        process = wrapper.start(*between, *inner, "sh", "-c", script)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 3
        assert err == ""
        assert str(process.pid) in out.split()[:2]  # no second wrapper in between
        assert list(traces_in(wrapper)) == ["trace.json"]
        assert wrapper.trace()["probe"]["pid"] == process.pid
        assert wrapper.trace()["probe"]["exit"] == 3


def test_a_nested_wrapper_finds_a_file_that_was_named(
    wrapper: Wrapper, gpu_probe: Path, tmp_path: Path
) -> None:
    place = ["--trace-file", str(tmp_path / "named.json")]
    process = wrapper.start(str(gpu_probe), *place, "--", "sh", "-c", "echo $PPID", options=place)
    out, _ = process.communicate(timeout=30)
    assert int(out) == process.pid


def test_a_wrapper_with_another_place_measures_too(
    wrapper: Wrapper, gpu_probe: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        wrapper.run(str(gpu_probe), "--workdir", str(tmp_path), "--", "true")
        outer, inner = wrapper.trace(), json.loads((tmp_path / ".fusion/trace.json").read_bytes())
        assert outer["probe"]["pid"] != inner["probe"]["pid"]


def test_ranks_write_traces_of_their_own(wrapper: Wrapper) -> None:
    for _ in range(2):  # the second job step replaces what the first one left
        step = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8"}
        command = ("head", "-c", "1000", "/dev/zero")
        ranks = [wrapper.start(*command, SLURM_PROCID=str(i), **step) for i in range(8)]
        for process in ranks:
            process.communicate(timeout=30)
        host = os.uname().nodename.replace(".", "_")
        found = traces_in(wrapper)
        assert list(found) == [f"trace.7.{i}.{host}.json" for i in range(8)]
        assert [trace["probe"]["rank"] for trace in found.values()] == list("01234567")
        assert {trace["probe"]["pid"] for trace in found.values()} == {p.pid for p in ranks}
    record = collect_task(wrapper.directory, CollectOptions(fusion="on"))
    assert record["wchar"] == sum(trace["proc"]["wchar"] for trace in found.values()) == 8000
    assert record["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "12"}, "trace.7.12.HOST.json"),
        ({"OMPI_COMM_WORLD_RANK": "3"}, "trace.3.HOST.json"),
        ({"RANK": "1", "WORLD_SIZE": "2", "SLURM_JOB_ID": "9/a"}, "trace.9_a.1.HOST.json"),
        ({"SLURM_JOB_ID": "9", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, "trace.json"),
    ],
)
def test_a_launcher_names_the_trace(
    wrapper: Wrapper, variables: Mapping[str, str], name: str
) -> None:
    wrapper.run("true", **variables)
    assert list(traces_in(wrapper)) == [name.replace("HOST", os.uname().nodename.replace(".", "_"))]


def test_two_at_once_in_one_directory_keep_out_of_each_others_way(wrapper: Wrapper) -> None:
    for _ in range(15):
        for path in fusion_of(wrapper).glob("*"):
            path.unlink()
        both = [wrapper.start("sleep", "0.05") for _ in range(2)]
        for process in both:
            process.communicate(timeout=30)
        found = traces_in(wrapper)
        assert len(found) == 2
        assert "trace.json" in found
        assert {trace["probe"]["pid"] for trace in found.values()} == {p.pid for p in both}
        assert {trace["probe"]["state"] for trace in found.values()} == {"final"}


def test_four_at_once_over_what_a_killed_one_left(wrapper: Wrapper) -> None:
    for _ in range(8):
        killed = wrapper.start("sleep", "30")
        wrapper.wait_for_trace()
        killed.kill()
        killed.communicate(timeout=30)
        four = [wrapper.start("sh", "-c", "read line") for _ in range(4)]
        deadline = time.monotonic() + 10
        while not writers_in(wrapper) >= {p.pid for p in four}:
            assert time.monotonic() < deadline  # the end of one before another began frees a name
        for process in four:
            process.communicate("\n", timeout=30)
        found = traces_in(wrapper)
        assert {trace["probe"]["pid"] for trace in found.values()} >= {p.pid for p in four}
        for path in fusion_of(wrapper).glob("*"):
            path.unlink()


def test_a_foreign_trace_stays(wrapper: Wrapper) -> None:
    fusion_of(wrapper).mkdir()
    foreign = fusion_of(wrapper) / "trace.json"
    foreign.write_bytes(FOREIGN)
    before = mark(foreign)
    for _ in range(2):
        wrapper.run("sh", "-c", "exit 2")
        assert mark(foreign) == before
        assert list(traces_in(wrapper)) == ["gpu-probe.json", "trace.json"]
        assert traces_in(wrapper)["gpu-probe.json"]["probe"]["exit"] == 2
    record = collect_task(wrapper.directory, CollectOptions(fusion="on"))
    assert (record["realtime"], record["exit"]) == (5, 2)
    assert record.gpu_metrics == {"pct": 3}


@pytest.mark.parametrize("how", ["replaced", "in place", "instead"])
def test_a_foreign_trace_that_comes_late_stays(wrapper: Wrapper, how: str) -> None:
    process = wrapper.start("sleep", "30")
    wrapper.wait_for_trace()
    foreign = fusion_of(wrapper) / "trace.json"
    if how == "instead":
        foreign.unlink()
    if how == "replaced":
        other = foreign.with_name("other")
        other.write_bytes(FOREIGN)
        other.replace(foreign)
    else:
        foreign.write_bytes(FOREIGN)
    before = mark(foreign)
    process.terminate()  # a checkpoint, and then the end
    process.communicate(timeout=30)
    assert mark(foreign) == before
    assert list(traces_in(wrapper)) == ["gpu-probe.json", "trace.json"]
    assert traces_in(wrapper)["gpu-probe.json"]["probe"]["signal"] == 15


def test_a_foreign_file_that_was_named_stays_too(wrapper: Wrapper, tmp_path: Path) -> None:
    named = tmp_path / "mine.json"
    named.write_bytes(FOREIGN)
    wrapper.run("true", options=["--trace-file", str(named)])
    assert named.read_bytes() == FOREIGN
    assert json.loads((tmp_path / "mine.gpu-probe.json").read_bytes())["probe"]["exit"] == 0
    named.write_bytes(b"")  # as mktemp makes it
    wrapper.run("true", options=["--trace-file", str(named)])
    assert json.loads(named.read_bytes())["probe"]["exit"] == 0


def test_beside_fusion_one_file_is_published_at_the_end(wrapper: Wrapper, tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.mkdir()
    process = wrapper.start("sh", "-c", "read line", FUSION_WORK="/fusion/x", TMPDIR=str(local))
    deadline = time.monotonic() + 10
    while not list(local.glob("gpu-probe.*.json")):
        assert time.monotonic() < deadline
    (checkpoint,) = local.glob("gpu-probe.*.json")
    assert json.loads(checkpoint.read_bytes())["probe"]["state"] == "running"
    assert not list(fusion_of(wrapper).iterdir())
    process.communicate("\n", timeout=30)
    assert list(traces_in(wrapper)) == ["gpu-probe.json"]
    assert not list(local.iterdir())


def nextflow_task(directory: Path, first_line: str) -> Path:
    (directory / ".command.sh").write_text(f"{first_line}\nexec 3>&1; echo task\n")
    run = directory / ".command.run"
    run.write_text('[ "$1" = nxf_trace ] && sh -c "$SHELL_LINE $(dirname "$0")/.command.sh"\n')
    return run


@pytest.mark.parametrize("inner", [True, False])
def test_nextflows_double_wrapping(wrapper: Wrapper, gpu_probe: Path, inner: bool) -> None:
    shell = f"{gpu_probe} --workdir {wrapper.directory} -- sh" if inner else "sh"
    run = nextflow_task(wrapper.directory, f"#!{shell}")
    process = wrapper.start("sh", str(run), "nxf_trace", SHELL_LINE=shell)
    out, _ = process.communicate(timeout=30)
    assert out == "task\n"
    assert (wrapper.trace()["probe"]["pid"] == process.pid) != inner
    assert list(traces_in(wrapper)) == ["trace.json"]


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_copy_goes_elsewhere(wrapper: Wrapper, tmp_path: Path, by: str) -> None:
    copies = tmp_path / "copies"
    options = ["--copy-to", str(copies)] if by == "option" else []
    variables = {} if by == "option" else {"GPU_PROBE_COPY_TO": str(copies)}
    process = wrapper.start("sh", "-c", "read line", options=options, **variables)
    wrapper.wait_for_trace()
    deadline = time.monotonic() + 10
    while not list(copies.glob("*.trace.json")):
        assert time.monotonic() < deadline
    process.communicate("\n", timeout=30)
    (copy,) = copies.iterdir()
    assert copy.name == wrapper.trace()["probe"]["run_id"] + ".trace.json"
    assert copy.read_bytes() == (fusion_of(wrapper) / "trace.json").read_bytes()
    wrapper.run("true", options=options, **variables)
    assert len(list(copies.iterdir())) == 2


def test_a_copy_that_fails_costs_the_task_nothing(wrapper: Wrapper, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = wrapper.run("sh", "-c", "exit 4", options=["--copy-to", str(tmp_path / "file")])
    assert done.returncode == 4
    assert "--copy-to" in done.stderr
    assert wrapper.trace()["probe"]["exit"] == 4


def test_a_sampler_below_a_wrapper_says_so(wrapper: Wrapper, tmp_path: Path) -> None:
    program = f"import probe\nwith probe.Sampler({str(wrapper.directory)!r}): sum(range(1000))"
    python = subprocess.run(
        wrapper.command(sys.executable, "-c", program), capture_output=True, check=False
    )
    assert python.returncode == 0, python.stderr
    found = traces_in(wrapper)
    outer = found.pop("trace.json")
    (inner,) = found.values()
    assert inner["probe"]["within"] == outer["probe"]["run_id"]
    record = collect_task(wrapper.directory, CollectOptions(fusion="on"))
    assert record["realtime"] == outer["proc"]["realtime"]
