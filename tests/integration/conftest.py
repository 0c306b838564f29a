"""What several integration tests start from: control groups, and places to launch in."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.bench import GPU_BENCH, TIMEOUT_S, Bench
from helpers.control_groups import group_of, groups_left
from helpers.places import mount
from helpers.platform_server import TOKEN, PlatformDouble, platform_double
from helpers.platform_tasks import TASKS, make_tasks
from helpers.slow_mount import SlowMount
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


@pytest.fixture
def spare(tmp_path: Path) -> Path:
    """A directory for TMPDIR."""
    directory = tmp_path / "spare"
    directory.mkdir()
    return directory


def mounted(directory: Path) -> Iterator[SlowMount]:
    directory.mkdir()
    try:
        mount_point = SlowMount(directory)
    except OSError as error:
        pytest.skip(f"no FUSE here: {error}")
    with mount_point:
        yield mount_point


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[SlowMount]:
    """A network file system, of a kind, at `slow`."""
    yield from mounted(tmp_path / "slow")


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[SlowMount]:
    """A mount at `dead`, which still answers."""
    yield from mounted(tmp_path / "dead")


@pytest.fixture
def small_disk(wrapper: Wrapper) -> Iterator[Path]:
    """The wrapper's work directory, on a file system of 64 KiB."""
    mount("-t", "tmpfs", "-o", "size=64k", "small", str(wrapper.directory))
    yield wrapper.directory
    subprocess.run(["umount", "-l", str(wrapper.directory)], check=True)


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    """The directory that benchmarks are launched in."""
    directory = tmp_path / "launch"
    directory.mkdir()
    return directory


@pytest.fixture
def environment(gpu_probe: Path) -> dict[str, str]:
    path = os.pathsep.join(sys.path)
    return {**os.environ, "GPU_PROBE": str(gpu_probe), "PYTHONPATH": path}


@pytest.fixture
def bench(launch: Path, environment: dict[str, str]) -> Bench:
    """Run `gpu-bench run` in the launch directory."""

    def run(*words: str, typed: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*GPU_BENCH, "run", *words],
            cwd=launch,
            env={**environment, **variables},
            input=typed,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOWER_ACCESS_TOKEN", TOKEN)
    make_tasks(TASKS)
    return tmp_path


@pytest.fixture
def double(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformDouble]:
    with platform_double() as server:
        monkeypatch.setenv("TOWER_API_ENDPOINT", server.endpoint)
        yield server
