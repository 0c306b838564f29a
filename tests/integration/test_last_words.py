"""The one line after a death, and when there is none."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from helpers.wrapper import Wrapper

SIZE = r"[\d.]+ [MG]iB"
DEATH = rf"gpu-probe: killed by %s at 00:00:\d\d, peak RSS {SIZE} of {SIZE} \((host|limit)\)"


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM", "XCPU"])
def test_a_death_by_a_signal_is_one_line_at_the_end(wrapper: Wrapper, name: str) -> None:
    done = wrapper.run("sh", "-c", f"echo mine >&2; kill -{name} $$")
    assert done.returncode == -getattr(signal, f"SIG{name}")
    first, last = done.stderr.splitlines()
    assert first == "mine"
    assert re.fullmatch(DEATH % f"SIG{name}", last)
    assert done.stdout == ""


@pytest.mark.parametrize("script", ["exit 0", "exit 3", "exit 137", "kill -PIPE $$"])
def test_an_end_that_needs_no_word_has_none(wrapper: Wrapper, script: str) -> None:
    assert wrapper.run("sh", "-c", f"echo mine >&2; {script}").stderr == "mine\n"


def test_quiet_means_not_a_word(wrapper: Wrapper) -> None:
    done = wrapper.run("sh", "-c", "kill -9 $$", options=["--quiet"])
    assert (done.returncode, done.stderr) == (-9, "")
    done = wrapper.run("sh", "-c", "kill -9 $$", options=["--quiet", "--summary"])
    assert done.stderr == ""


def test_it_follows_a_summary(wrapper: Wrapper) -> None:
    lines = wrapper.run("sh", "-c", "kill -9 $$", options=["--summary"]).stderr.splitlines()
    assert len(lines) == 7
    assert lines[-1].startswith("gpu-probe: killed by SIGKILL")


def test_a_time_limit_shows(wrapper: Wrapper) -> None:
    process = wrapper.start("sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 9
    assert re.match(
        r"gpu-probe: ended with exit status 9 at 00:00:\d\d, \d s after a SIGTERM,", err
    )


def test_a_command_that_ends_well_after_a_warning_is_no_news(wrapper: Wrapper) -> None:
    process = wrapper.start("sh", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[1] == ""


def test_gpu_memory_is_named(gpu_wrapper: Wrapper, scenario: Callable[[str], None]) -> None:
    scenario("device 0 mem_mib=81920\nseries 0 mem 0 80896\n")
    done = gpu_wrapper.run("sh", "-c", "sleep 0.5; kill -9 $$")
    assert done.stderr.endswith(", peak VRAM 79.0 of 80.0 GiB at 00:00:00\n")


def test_words_go_where_the_command_began_and_not_where_it_turned(wrapper: Wrapper) -> None:
    """After the command sent its stderr elsewhere, its first reader saw the end: no word there."""
    done = wrapper.run("sh", "-c", "exec 2>/dev/null; sleep 1.2; kill -9 $$")
    assert (done.returncode, done.stderr) == (-9, "")


def test_a_reader_that_has_stopped_reading_is_not_waited_for(wrapper: Wrapper) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while True:
            os.write(write_end, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write_end, True)
    begin = time.monotonic()
    command = wrapper.command("sh", "-c", "kill -9 $$")
    done = subprocess.run(command, stderr=write_end, timeout=20, check=False)
    os.close(read_end)
    os.close(write_end)
    assert done.returncode == -9
    assert time.monotonic() - begin < 5
