"""Next to no descriptors: the command keeps its limit, and whoever waits for a trace is told."""

import os
import resource
import subprocess
from functools import partial
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper

FIGURES = ("rchar", "wchar", "syscr", "syscw")


def set_limit(soft: int, hard: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def powerless(wrapper: Wrapper) -> Wrapper:
    """The wrapper without the right to raise hard limits."""
    if os.geteuid() != 0:
        return wrapper
    nobody = 65534
    for path in (wrapper.directory, *wrapper.directory.parents):
        if path == Path("/tmp"):
            break
        path.chmod(0o777)
    return Wrapper(entry=[f"--as={nobody}", *wrapper.entry], directory=wrapper.directory)


def run(
    wrapper: Wrapper, soft: int, hard: int, *options: str
) -> "subprocess.CompletedProcess[str]":
    user = None
    entry = list(wrapper.entry)
    if entry[0].startswith("--as="):
        user = int(entry.pop(0).removeprefix("--as="))
    script = "ulimit -Sn; ulimit -Hn; exit 3"
    return subprocess.run(
        [*entry, "--workdir", str(wrapper.directory), *options, "--", "/bin/sh", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        user=user,
        preexec_fn=partial(set_limit, soft, hard),
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("soft", [4, 8, 63])
def test_a_soft_limit_is_no_limit(wrapper: Wrapper, soft: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = run(wrapper, soft, hard)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.split() == [str(soft), str(hard)]
    trace = wrapper.trace()
    assert not {f"proc.{key}" for key in FIGURES} & set(trace["probe"]["unavailable"])


@pytest.mark.parametrize("hard", [16, 40])
def test_a_hard_limit_that_is_just_enough(powerless: Wrapper, hard: int) -> None:
    done = run(powerless, 6, hard)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.split() == ["6", str(hard)]
    assert not {f"proc.{key}" for key in FIGURES} & set(powerless.trace()["probe"]["unavailable"])


@pytest.mark.parametrize("hard", [4, 15])
@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_a_hard_limit_that_is_too_low_is_one_line(
    powerless: Wrapper, hard: int, options: list[str]
) -> None:
    done = run(powerless, 4, hard, *options)
    assert done.returncode == 3
    assert done.stdout.split() == ["4", str(hard)]
    assert len(done.stderr.splitlines()) == (0 if options else 1)
    if not options:
        assert f"no trace: {hard} open files at most (ulimit -Hn)" in done.stderr
    assert not list(powerless.directory.iterdir())
