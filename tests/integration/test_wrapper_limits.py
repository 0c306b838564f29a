"""Resource limits: where the wrapper has no room the command runs all the same, and as bare."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper

NOBODY = 65_534
STATIC = 'int main(void) { return 7; }'


@pytest.fixture(scope="session")
def static_command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A command that needs next to no memory: it ends with 7."""
    directory = tmp_path_factory.mktemp("static")
    source, command = directory / "seven.c", directory / "seven"
    source.write_text(STATIC)
    for compiler in ("musl-gcc", "gcc"):
        made = subprocess.run(
            [compiler, "-static", "-Os", str(source), "-o", str(command)],
            capture_output=True,
            check=False,
        ) if any((Path(p) / compiler).exists() for p in os.get_exec_path()) else None
        if made is not None and made.returncode == 0:
            return command
    pytest.skip("no compiler makes a static executable here")


def under(limit: str, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=os.environ | variables,
    )


@pytest.mark.parametrize("limit", ["-v 400", "-v 1000", "-v 1800", "-d 100", "-d 900", "-s 16"])
@pytest.mark.parametrize("options", [[], ["--quiet"]], ids=["loud", "quiet"])
def test_where_there_is_no_memory_for_us_the_command_runs(
    wrapper: Wrapper, static_command: Path, limit: str, options: list[str]
) -> None:
    assert under(limit, str(static_command)).returncode == 7
    done = under(limit, *wrapper.command(str(static_command), options=options))
    assert done.returncode == 7
    kind, kib = limit.split()
    expected = f"gpu-probe: no trace: {kib} KiB of [^(]*\\(ulimit {kind}\\) are too few"
    if options:
        assert done.stderr == ""
    else:
        [line] = done.stderr.splitlines()
        import re
        assert re.match(expected, line), line
