"""What is executed, what is not, and what is said then."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

from helpers.wrapper import Wrapper


def executable(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    path.chmod(0o755)
    return str(path)


def foreign_elf() -> bytes:
    """The header of a program for a machine that nobody has."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, 0xFFF0, 1, 0, 64, 0, 0, 64, 56, 0, 64, 0, 0)


@pytest.mark.parametrize(
    "data",
    [foreign_elf(), b"echo\0 executed\n", b"\0\0\0\0"],
    ids=["another machine", "a NUL in the first line", "zeros"],
)
def test_a_binary_file_is_not_the_shells(wrapper: Wrapper, tmp_path: Path, data: bytes) -> None:
    done = wrapper.run(executable(tmp_path / "program", data))
    assert (done.returncode, done.stdout) == (126, "")
    assert "cannot execute binary file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_script_without_an_interpreter_line_is(wrapper: Wrapper, tmp_path: Path) -> None:
    done = wrapper.run(executable(tmp_path / "script", b"echo $1; exit 3\n\0"), "word")
    assert (done.returncode, done.stdout) == (3, "word\n")


def test_a_hint_goes_with_the_error(wrapper: Wrapper, tmp_path: Path) -> None:
    lost = executable(tmp_path / "lost", b"#!/no/such/interpreter\n")
    (tmp_path / "plain").write_text("echo\n")
    for command, status, words in [
        ("no-such-command", 127, "No such file or directory; it is not on PATH"),
        ("echo one two", 127, "No such file or directory; command and arguments are words"),
        (lost, 127, "No such file or directory; the file is there: the interpreter"),
        (str(tmp_path / "plain"), 126, "Permission denied; it is not marked as executable: chmod"),
        (str(tmp_path), 126, "Permission denied; it is a directory\n"),
        (str(tmp_path / "missing"), 127, "No such file or directory\n"),
    ]:
        done = wrapper.run(command)
        assert done.returncode == status
        assert done.stderr.startswith(f"gpu-probe: {command}: {words}")


def test_a_file_here_is_called_by_its_path(wrapper: Wrapper) -> None:
    executable(wrapper.directory / "here-only", b"#!/bin/sh\n")
    done = subprocess.run(
        [*wrapper.entry, "here-only"],
        cwd=wrapper.directory,
        env=os.environ | {"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 127
    assert "call it by ./NAME" in done.stderr
