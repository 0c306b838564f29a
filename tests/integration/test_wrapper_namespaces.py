"""A /proc that hides processes, or that is another PID namespace's."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.wrapper import Wrapper

NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
HIDING = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
AS_USER = "setpriv --reuid {0} --regid {0} --clear-groups"
SOURCES = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "vmem", "rss")


def inside(*command: str, namespaces: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    if subprocess.run([*namespaces, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this place does not allow such namespaces")
    return subprocess.run(
        [*namespaces, *command], capture_output=True, text=True, check=False, timeout=60
    )


def test_a_hidden_writer_keeps_its_trace(gpu_probe: Path, tmp_path: Path) -> None:
    """`hidepid` hides a living writer of another user; a signal tells that it is there."""
    if os.geteuid() != 0:
        pytest.skip("needs two users")
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(0o755)
    place = tmp_path / "shared"
    place.mkdir()
    fusion = place / ".fusion"
    fusion.mkdir()
    fusion.chmod(0o777)
    reachable = Path("/tmp") / f"gpu-probe-{os.getpid()}"  # the build directory may not be
    reachable.write_bytes(gpu_probe.read_bytes())
    reachable.chmod(0o755)
    fifo = place / "go"
    os.mkfifo(fifo, 0o666)
    fifo.chmod(0o666)
    probe = f"{reachable} --quiet --workdir {place} --"
    script = f"""
umask 0
{AS_USER.format(1001)} {probe} sh -c 'read line <{fifo}' &
until grep -qs '"run_id"' {fusion}/trace.json; do :; done
grep run_id {fusion}/trace.json
{AS_USER.format(1002)} {probe} true
grep run_id {fusion}/trace.json
echo >{fifo}
wait
"""
    try:
        done = inside("sh", "-c", HIDING, "sh", "sh", "-c", script, namespaces=NAMESPACES)
    finally:
        reachable.unlink()
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.splitlines()
    assert before == after
    traces = [json.loads(path.read_bytes())["probe"] for path in fusion.iterdir()]
    assert sorted(trace["state"] for trace in traces) == ["final", "final"]
    assert len({trace["run_id"] for trace in traces}) == 2


@pytest.fixture
def foreign(wrapper: Wrapper) -> Wrapper:
    """The wrapper in a PID namespace whose /proc is the one outside."""
    namespaces = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*namespaces, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this place does not allow PID namespaces")
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    return Wrapper(entry=[*namespaces, *shell, *wrapper.entry], directory=wrapper.directory)


def test_anothers_proc_is_as_good_as_none(foreign: Wrapper) -> None:
    script = "head -c 100000 /dev/zero >/dev/null; sleep 0.3; exit 6"
    assert foreign.run("sh", "-c", script).returncode == 6
    trace = foreign.trace()
    proc, probe = trace["proc"], trace["probe"]
    assert proc["pct_cpu"] < 1000  # tenths of a percent
    assert proc["vol_ctxt"] < 100
    assert proc["peak_rss"] > 0
    for key in SOURCES:
        assert proc[key] == 0
        assert f"proc.{key}" in probe["unavailable"]
    assert set(probe["sources"]) & {"proc.io", "proc.memory"} == set()
    assert probe["samples"] == 0
    (note,) = [note for note in probe["notes"] if note.startswith("proc:")]
    assert "unshare --mount-proc" in note


def test_its_identity_is_right_all_the_same(foreign: Wrapper) -> None:
    process = foreign.start("sh", "-c", "read line")
    foreign.wait_for_trace()
    probe = foreign.trace()["probe"]
    started = {start_of(pid) for pid in descendants(process.pid)}
    process.communicate("\n", timeout=30)
    assert probe["pid_start"] in started


def descendants(root: int) -> list[int]:
    found = [root]
    for pid in found:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        found += [int(child) for child in children.split()]
    return found


def start_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def test_check_gives_the_reason_and_the_way_out(foreign: Wrapper) -> None:
    done = foreign.run("true")
    assert done.returncode == 0
    command = [*foreign.entry, "--workdir", str(foreign.directory), "--check", "--json"]
    text = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    rows: dict[str, Any] = {
        f"{row['block']}.{row['key']}": row for row in json.loads(text)["checks"]
    }
    for key in foreign.trace()["proc"]:
        if key != "arch":
            missing = f"proc.{key}" in foreign.trace()["probe"]["unavailable"]
            assert rows[f"proc.{key}"]["ok"] != missing
    for key in ("processes", "rchar", "vmem", "pct_mem"):
        assert "another PID namespace" in rows[f"proc.{key}"]["reason"]
        assert "--mount-proc" in rows[f"proc.{key}"]["next_step"]


def test_the_way_out_leads_out(wrapper: Wrapper) -> None:
    done = inside(*wrapper.command("sleep", "0.1"), namespaces=NAMESPACES)
    assert done.returncode == 0, done.stderr
    assert wrapper.trace()["proc"]["rss"] > 0
    assert not [note for note in wrapper.trace()["probe"]["notes"] if note.startswith("proc:")]
