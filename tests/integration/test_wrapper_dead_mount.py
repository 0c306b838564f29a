"""A file system that answers nothing any more: the command starts, runs and ends all the same."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.slow_mount import SlowMount
from helpers.wrapper import Wrapper

READY = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done"


def rescued(spare: Path) -> Path:
    (path,) = spare.glob(f"gpu-probe-{os.geteuid()}/*.trace.json")
    return path


@contextmanager
def takes(least_s: float, most_s: float) -> Iterator[None]:
    begin = time.monotonic()
    yield
    assert least_s <= time.monotonic() - begin < most_s


def wait_until_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


@pytest.mark.parametrize("named", ["--trace-file", "--workdir"])
def test_a_named_place_that_is_dead_keeps_the_command_for_a_second(
    wrapper: Wrapper, dead: SlowMount, tmp_path: Path, spare: Path, named: str
) -> None:
    place = tmp_path / "dead" / ("t.json" if named == "--trace-file" else "")
    dead.dead.set()
    with takes(0.9, 2.5):
        process = wrapper.start("sh", "-c", READY, options=[named, str(place)], TMPDIR=str(spare))
        wait_until_ready(process)
    process.send_signal(signal.SIGUSR1)
    with takes(0, 1):
        _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert "timed out" in err
    assert str(tmp_path / "dead") in err
    assert str(rescued(spare)) in err
    trace = json.loads(rescued(spare).read_bytes())
    assert trace["probe"]["exit"] == 5


def test_who_looked_in_vain_is_none_of_the_task(
    wrapper: Wrapper, dead: SlowMount, tmp_path: Path, spare: Path
) -> None:
    place = ["--trace-file", str(tmp_path / "dead" / "t.json")]
    dead.dead.set()
    process = wrapper.start("sh", "-c", "echo ready; read line", options=place, TMPDIR=str(spare))
    wait_until_ready(process)
    time.sleep(0.3)  # some samples
    dead.release()  # and now it ends
    process.communicate("\n", timeout=30)
    trace = json.loads(rescued(spare).read_bytes())
    assert "outlived" not in json.dumps(trace["probe"])


def test_a_place_that_dies_amid_the_task(
    wrapper: Wrapper, dead: SlowMount, tmp_path: Path, spare: Path
) -> None:
    place = ["--trace-file", str(tmp_path / "dead" / "t.json")]
    process = wrapper.start("sh", "-c", READY, options=place, TMPDIR=str(spare))
    wait_until_ready(process)
    deadline = time.monotonic() + 10
    while b'"running"' not in bytes(dead.files.get("t.json", b"")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    dead.dead.set()
    process.send_signal(signal.SIGUSR1)
    with takes(1.9, 3.5):
        _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert "timed out" in err
    assert json.loads(rescued(spare).read_bytes())["probe"]["exit"] == 5


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("since", ["start", "amid"])
def test_a_dead_copy_takes_nothing_along(
    wrapper: Wrapper, dead: SlowMount, tmp_path: Path, by: str, since: str
) -> None:
    directory = str(tmp_path / "dead")
    options = ["--copy-to", directory] if by == "option" else []
    variables = {"GPU_PROBE_COPY_TO": directory} if by == "variable" else {}
    if since == "start":
        dead.dead.set()
    with takes(0, 0.9):
        process = wrapper.start("sh", "-c", READY, options=options, **variables)
        wait_until_ready(process)
    wrapper.wait_for_trace()
    dead.dead.set()
    process.send_signal(signal.SIGUSR1)
    with takes(1.9, 3.5):
        _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert "--copy-to" in err
    assert "timed out" in err
    assert wrapper.trace()["probe"]["exit"] == 5


@pytest.mark.parametrize("since", ["start", "amid"])
def test_a_dead_temporary_directory_beside_fusion(
    wrapper: Wrapper, dead: SlowMount, tmp_path: Path, since: str
) -> None:
    if since == "start":
        dead.dead.set()
    with takes(0, 0.9):
        process = wrapper.start(
            "sh", "-c", READY, TMPDIR=str(tmp_path / "dead"), FUSION_WORK="/fusion/work"
        )
        wait_until_ready(process)
    time.sleep(0.3)
    dead.dead.set()
    process.send_signal(signal.SIGUSR1)
    with takes(0, 3.5):
        _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert err == ""
    trace = json.loads((wrapper.directory / ".fusion" / "gpu-probe.json").read_bytes())
    assert trace["probe"]["exit"] == 5


@pytest.fixture
def log(dead: SlowMount, tmp_path: Path) -> Iterator[int]:
    """A file on the mount, for stderr."""
    fd = os.open(tmp_path / "dead" / "log", os.O_WRONLY | os.O_CREAT, 0o644)
    yield fd
    dead.release()
    os.close(fd)


def start_logging(
    wrapper: Wrapper, log: int, *words: str, options: tuple[str, ...] = ()
) -> "subprocess.Popen[str]":
    """Its execution waits for a line, since the mount serves this very process."""
    shell = ["sh", "-c", 'read line; exec "$@"', "sh"]
    return subprocess.Popen(
        [*shell, *wrapper.command(*words, options=options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("options", [(), ("--summary",), ("--quiet",)])
def test_a_dead_stderr_keeps_no_command_from_starting_and_ending(
    wrapper: Wrapper, dead: SlowMount, log: int, options: tuple[str, ...]
) -> None:
    with start_logging(wrapper, log, "sh", "-c", READY, options=options) as process:
        dead.dead.set()
        with takes(0, 0.9):
            go(process)
            wait_until_ready(process)
        time.sleep(1.2)  # samples, at each of which stderr is looked at
        process.send_signal(signal.SIGUSR1)
        with takes(0.9 if options == ("--summary",) else 0, 2):
            assert process.wait(timeout=30) == 5
    assert wrapper.trace()["probe"]["exit"] == 5


def test_last_words_for_a_dead_stderr_are_waited_for_a_second(
    wrapper: Wrapper, dead: SlowMount, log: int
) -> None:
    with start_logging(wrapper, log, "sh", "-c", "echo ready; exec sleep 100") as process:
        go(process)
        wait_until_ready(process)
        dead.dead.set()
        process.send_signal(signal.SIGTERM)
        with takes(0.9, 2):
            assert process.wait(timeout=30) == -signal.SIGTERM
    assert wrapper.trace()["probe"]["signal"] == signal.SIGTERM


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_a_dead_stderr_may_not_learn_that_there_is_no_command(
    wrapper: Wrapper, dead: SlowMount, log: int, options: tuple[str, ...]
) -> None:
    with start_logging(wrapper, log, "no-such-command", options=options) as process:
        dead.dead.set()
        with takes(0.9, 2):
            go(process)
            assert process.wait(timeout=30) == 127
    assert wrapper.trace()["probe"]["exit"] == 127


def test_last_words_reach_a_file_on_any_file_system(
    wrapper: Wrapper, dead: SlowMount, log: int
) -> None:
    with start_logging(wrapper, log, "sh", "-c", "echo ready; exec sleep 100") as process:
        go(process)
        wait_until_ready(process)
        time.sleep(1.2)  # the copy of stderr is kept
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM
    assert b"killed by SIGTERM" in bytes(dead.files["log"])


def test_last_words_reach_a_file_that_was_renamed_or_removed(
    wrapper: Wrapper, tmp_path: Path
) -> None:
    for change in ("mv log log.1", "rm log"):
        with (tmp_path / "log").open("w+") as log:
            script = f"cd {tmp_path}; {change}; sleep 1.2; kill -TERM $$"
            with start_logging(wrapper, log.fileno(), "sh", "-c", script) as process:
                go(process)
                assert process.wait(timeout=30) == -signal.SIGTERM
            log.seek(0)
            assert "killed by SIGTERM" in log.read()


@pytest.mark.parametrize("mode", ["text", "json"])
def test_the_check_of_a_dead_place_says_so(
    gpu_probe: Path, dead: SlowMount, tmp_path: Path, mode: str
) -> None:
    dead.dead.set()
    words = [
        "--check",
        "--workdir",
        str(tmp_path / "dead"),
        *(["--json"] if mode == "json" else []),
    ]
    with takes(1.9, 5):
        done = subprocess.run(
            [gpu_probe, *words], capture_output=True, text=True, timeout=30, check=False
        )
    assert done.returncode == 0
    assert "the file system does not answer" in done.stdout


def test_the_check_of_a_dead_copy_says_so_of_the_copy(
    wrapper: Wrapper, dead: SlowMount, tmp_path: Path
) -> None:
    dead.dead.set()
    command = [*wrapper.entry, "--check", "--json", "--copy-to", str(tmp_path / "dead" / "c")]
    command += ["--workdir", str(wrapper.directory)]
    with takes(1.9, 5):
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    rows = {f"{row['block']}.{row['key']}": row for row in json.loads(done.stdout)["checks"]}
    assert rows["trace.file"]["detail"] == str(wrapper.directory / ".fusion" / "trace.json")
    assert "timed out" in rows["trace.copy"]["reason"]
    assert not list(wrapper.directory.iterdir())


def test_a_writer_that_dies_is_replaced(wrapper: Wrapper, dead: SlowMount, tmp_path: Path) -> None:
    place = ["--trace-file", str(tmp_path / "dead" / "t.json")]
    process = wrapper.start("sh", "-c", READY, options=place)
    wait_until_ready(process)
    time.sleep(0.3)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (writer,) = [
        int(child) for child in children if Path(f"/proc/{child}/comm").read_text() == "gpu-probe\n"
    ]
    os.kill(writer, signal.SIGKILL)
    process.send_signal(signal.SIGUSR1)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert err == ""
    assert json.loads(bytes(dead.files["t.json"]))["probe"]["exit"] == 5
