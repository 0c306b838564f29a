"""Places that cannot be written, or not for long: the task never notices."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from helpers.places import fill, mount, rescued
from helpers.slow_mount import SlowMount
from helpers.wrapper import Wrapper


def test_a_full_disk_keeps_the_last_trace(wrapper: Wrapper, small_disk: Path, spare: Path) -> None:
    process = wrapper.start("sh", "-c", "read line; exit 3", TMPDIR=str(spare))
    wrapper.wait_for_trace()
    fill(small_disk)
    _, err = process.communicate("\n", timeout=30)
    assert process.returncode == 3
    assert wrapper.trace()["probe"]["state"] == "running"
    final = json.loads(rescued(spare).read_bytes())
    assert final["probe"]["exit"] == 3
    assert final["probe"]["run_id"] == wrapper.trace()["probe"]["run_id"]
    assert str(rescued(spare)) in err
    assert "No space left" in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in (small_disk / ".fusion").iterdir()] == ["trace.json"]


def test_a_disk_that_was_full_is_used_again(wrapper: Wrapper, small_disk: Path) -> None:
    (small_disk / ".fusion").mkdir()
    fill(small_disk)
    process = wrapper.start("sh", "-c", "read line")
    time.sleep(0.2)
    (small_disk / "full").unlink()
    _, err = process.communicate("\n", timeout=30)
    assert err == ""
    assert wrapper.trace()["probe"]["state"] == "final"


def test_a_read_only_directory(wrapper: Wrapper, spare: Path) -> None:
    mount("--bind", str(wrapper.directory), str(wrapper.directory))
    try:
        mount("-o", "remount,ro,bind", str(wrapper.directory))
        done = wrapper.run("sh", "-c", "exit 3", TMPDIR=str(spare))
    finally:
        subprocess.run(["umount", "-l", str(wrapper.directory)], check=True)
    assert done.returncode == 3
    assert "Read-only" in done.stderr
    assert json.loads(rescued(spare).read_bytes())["probe"]["exit"] == 3


def test_a_copy_is_rescue_enough(gpu_probe: Path, tmp_path: Path, spare: Path) -> None:
    wrapper = Wrapper(entry=[str(gpu_probe)], directory=tmp_path / "missing")
    done = wrapper.run("true", options=["--copy-to", str(tmp_path / "copies")], TMPDIR=str(spare))
    (copy,) = (tmp_path / "copies").iterdir()
    assert str(copy) in done.stderr
    assert json.loads(copy.read_bytes())["probe"]["state"] == "final"
    assert not list(spare.iterdir())


def test_a_removed_directory(wrapper: Wrapper, spare: Path) -> None:
    script = f"rm -rf {wrapper.directory}; exit 6"
    done = wrapper.run("sh", "-c", script, TMPDIR=str(spare))
    assert done.returncode == 6
    assert json.loads(rescued(spare).read_bytes())["probe"]["exit"] == 6


def test_a_stranger_cannot_lay_out_a_place(wrapper: Wrapper, spare: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (spare / f"gpu-probe-{os.geteuid()}").symlink_to(tmp_path / "elsewhere")
    done = wrapper.run("sh", "-c", f"rm -rf {wrapper.directory}; exit 6", TMPDIR=str(spare))
    assert done.returncode == 6
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_link_to_a_directory_is_one(wrapper: Wrapper, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (wrapper.directory / ".fusion").symlink_to(tmp_path / "real")
    assert wrapper.run("true").returncode == 0
    assert json.loads((tmp_path / "real/trace.json").read_bytes())["probe"]["state"] == "final"


@pytest.mark.parametrize("target", ["nowhere", "file"])
def test_a_link_to_no_directory(wrapper: Wrapper, tmp_path: Path, spare: Path, target: str) -> None:
    (tmp_path / "file").write_text("kept")
    (wrapper.directory / ".fusion").symlink_to(tmp_path / target)
    done = wrapper.run("sh", "-c", "exit 9", TMPDIR=str(spare))
    assert done.returncode == 9
    assert (tmp_path / "file").read_text() == "kept"
    assert not (tmp_path / "nowhere").exists()
    assert json.loads(rescued(spare).read_bytes())["probe"]["exit"] == 9


@pytest.mark.parametrize("kind", ["fifo", "directory", "dangling link"])
def test_something_else_stands_in_the_traces_place(wrapper: Wrapper, kind: str) -> None:
    fusion = wrapper.directory / ".fusion"
    fusion.mkdir()
    place = fusion / "trace.json"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    assert wrapper.run("true").returncode == 0
    assert json.loads((fusion / "gpu-probe.json").read_bytes())["probe"]["exit"] == 0
    assert place.is_symlink() or not place.is_file()


def test_a_file_system_without_links_and_exchange(
    wrapper: Wrapper, slow: SlowMount, tmp_path: Path
) -> None:
    place = ["--trace-file", str(tmp_path / "slow" / "t.json")]
    for _ in range(2):
        done = wrapper.run("head", "-c", "1000", "/dev/zero", options=place)
        assert done.returncode == 0
        assert list(slow.files) == ["t.json"]
        trace = json.loads(bytes(slow.files["t.json"]))
        assert trace["probe"]["state"] == "final"
        assert trace["proc"]["wchar"] == 1000  # nothing of the writer's


def test_a_rescue_that_hangs_too_delays_the_end_by_one_second_more(
    wrapper: Wrapper, slow: SlowMount, tmp_path: Path
) -> None:
    directory = tmp_path / "slow"
    slow.hang.set()
    place = ["--trace-file", str(directory / "t.json")]
    begin = time.monotonic()
    done = wrapper.run("sh", "-c", "exit 5", options=place, TMPDIR=str(directory))
    elapsed = time.monotonic() - begin
    assert done.returncode == 5
    assert 2.9 < elapsed < 4.5
    assert "timed out" in done.stderr
    assert "the trace is in" not in done.stderr


@pytest.mark.parametrize("since", ["start", "end"])
def test_a_hung_file_system_delays_the_end_by_two_seconds(
    wrapper: Wrapper, slow: SlowMount, tmp_path: Path, spare: Path, since: str
) -> None:
    place = ["--trace-file", str(tmp_path / "slow" / "t.json")]
    if since == "start":
        slow.hang.set()
    script = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done"
    process = wrapper.start("sh", "-c", script, options=place, TMPDIR=str(spare))
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.3)
    slow.hang.set()
    begin = time.monotonic()
    process.send_signal(10)  # passed on although a write hangs
    _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert 1.9 < time.monotonic() - begin < 3.5
    assert "timed out" in err
    if since == "end":
        assert json.loads(bytes(slow.files["t.json"]))["probe"]["state"] == "running"
    assert str(rescued(spare)) in err
    assert json.loads(rescued(spare).read_bytes())["probe"]["exit"] == 5


def test_what_is_said_of_a_trace_without_a_place(wrapper: Wrapper, spare: Path) -> None:
    missing = wrapper.directory / "missing"
    file = wrapper.directory / "file"
    file.write_text("")
    for options, words in [
        (["--trace-file", "/tmp"], "--trace-file /tmp: is a directory"),
        (["--workdir", str(missing)], f"--workdir {missing} does not exist; make it first"),
        (["--workdir", "/proc"], "no trace in /proc/.fusion: No such file or directory"),
        (["--workdir", str(file)], f"no trace in {file}/.fusion: Not a directory"),
    ]:
        done = wrapper.run("sh", "-c", "exit 3", options=options, TMPDIR=str(spare))
        assert done.returncode == 3
        trace = rescued(spare)
        assert done.stderr == f"gpu-probe: {words}; the trace is in {trace}\n"
        trace.unlink()


def test_a_relative_place_is_said_in_full(wrapper: Wrapper, spare: Path) -> None:
    (wrapper.directory / ".fusion").write_text("")
    command = [*wrapper.entry, "--", "true"]
    done = subprocess.run(
        command,
        cwd=wrapper.directory,
        env=os.environ | {"TMPDIR": str(spare)},
        capture_output=True,
        text=True,
        check=False,
    )
    words = f"gpu-probe: no trace in {wrapper.directory}/.fusion: Not a directory"
    assert done.stderr == f"{words}; the trace is in {rescued(spare)}\n"
