"""Control groups of this host, as processes and mounts show them."""

from pathlib import Path

import pytest

from helpers.wrapper import Wrapper

__all__ = ["TOUCHER", "cgroup_notes", "group_of", "groups_left"]

# 100 MiB touched, and little else: dd fills its one buffer.
TOUCHER = ("dd", "if=/dev/zero", "of=/dev/null", "bs=100M", "count=40", "status=none")


def group_of(pid: int | str, hierarchy: str) -> Path:
    """The directory of a process's group; hierarchy is a v1 controller or "" for v2."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if hierarchy in controllers.split(","):
            mount = next(
                fields[4]
                for fields in map(str.split, Path("/proc/self/mountinfo").read_text().splitlines())
                if fields[-3] == ("cgroup" if hierarchy else "cgroup2")
                and (not hierarchy or hierarchy in fields[-1].split(","))
            )
            return Path(mount + path)
    pytest.skip(f"no hierarchy of control groups with {hierarchy or 'v2'}")


def groups_left(*parents: Path) -> list[Path]:
    return [group for parent in parents for group in parent.glob("gpu-probe.*")]


def cgroup_notes(wrapper: Wrapper) -> list[str]:
    notes: list[str] = wrapper.trace()["probe"]["notes"]
    return [note for note in notes if note.startswith("cgroup:")]
