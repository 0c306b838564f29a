"""What several integration tests start from."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.control_groups import group_of, groups_left
from helpers.wrapper import Wrapper


@pytest.fixture
def parent() -> Iterator[Path]:
    """A v1 memory group of this test, below its own: nobody else is in it."""
    group = group_of("self", "memory") / f"test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no permission to make control groups: {error}")
    yield group
    for left in groups_left(group):
        left.rmdir()
    group.rmdir()


@pytest.fixture
def inside(parent: Path, wrapper: Wrapper) -> Wrapper:
    """The wrapper, started within that group."""
    shell = ["sh", "-c", f'echo 0 > {parent}/cgroup.procs && exec "$@"', "sh"]
    return Wrapper(entry=[*shell, *wrapper.entry], directory=wrapper.directory)
