"""What a control group was used for before the task is not the task's."""

import subprocess
import sys
from pathlib import Path

from helpers.control_groups import TOUCHER, cgroup_notes
from helpers.wrapper import Wrapper


def test_a_group_that_has_held_more_before_is_not_the_tasks(inside: Wrapper, parent: Path) -> None:
    """Its lifetime maximum would be an earlier program's."""
    assert inside.run("true").returncode == 0
    assert inside.trace()["probe"]["scope"]["cgroup"] == "own"
    earlier = ["sh", "-c", f'echo 0 > {parent}/cgroup.procs && exec "$@"', "sh", *TOUCHER]
    subprocess.run(earlier, check=True)
    assert inside.run("true").returncode == 0
    assert "cgroup" not in inside.trace()
    [note] = cgroup_notes(inside)
    assert "its memory peak was above 64 MiB before the task started" in note


def test_a_group_that_a_launcher_fills_is_not_the_tasks(inside: Wrapper) -> None:
    code = (
        "import subprocess, sys\n"
        "held = bytearray(20 * 2**20); held[::4096] = bytes(len(held) // 4096)\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
    )
    *shell, gpu_probe = inside.entry
    launcher = [*shell, sys.executable, "-c", code, gpu_probe]
    below = Wrapper(entry=launcher, directory=inside.directory)
    assert below.run("true").returncode == 0
    assert "cgroup" not in below.trace()
    [note] = cgroup_notes(below)
    assert "it held more than 8 MiB before the task started" in note
