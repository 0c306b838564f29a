"""Places that have next to nothing, and a checker that sees every wrong access."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.wrapper import Wrapper, read_trace

# Touches 20 MiB, writes 1000 bytes, and ends as its argument says: a status, or a signal.
TASK = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    size_t size = 20 << 20;
    char *memory = malloc(size);
    if (argc < 2 || memory == NULL) return 100;
    memset(memory, 1, size);
    if (write(1, memory, 1000) != 1000) return 101;
    usleep(30000);
    if (argv[1][0] == '-') raise(atoi(argv[1] + 1));
    return atoi(argv[1]);
}
"""


def is_static(executable: Path) -> bool:
    return b"/ld-" not in executable.read_bytes()


@pytest.fixture
def empty_root(tmp_path: Path, gpu_probe: Path) -> Path:
    """A root with two static programs, an empty /proc and a work directory: no libc, no shell."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    if not is_static(gpu_probe):
        pytest.skip("the wrapper is not static here")
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("no musl-gcc for a static command")
    root = tmp_path / "root"
    for name in ("proc", "work"):
        (root / name).mkdir(parents=True)
    (tmp_path / "task.c").write_text(TASK)
    build = [compiler, "-O1", "-static", str(tmp_path / "task.c"), "-o", str(root / "task")]
    subprocess.run(build, check=True)
    shutil.copy(gpu_probe, root / "gpu-probe")
    return root


def enter(
    root: Path, arguments: Sequence[str], *, with_proc: bool = False
) -> subprocess.CompletedProcess[bytes]:
    command = ["chroot", str(root), "/gpu-probe", *arguments]
    if with_proc:
        mount = f'mount -t proc proc {root}/proc && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", mount, "sh", *command]
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
            pytest.skip("this place does not allow mount namespaces")
    return subprocess.run(command, capture_output=True, check=False, timeout=60)


def run_in(root: Path, *command: str, with_proc: bool = False) -> tuple[int, dict[str, Any]]:
    done = enter(root, ["--workdir", "/work", "--", *command], with_proc=with_proc)
    assert done.stdout == b"\1" * 1000
    return done.returncode, read_trace(root / "work")


@pytest.mark.parametrize(("ending", "status"), [("7", 7), ("-9", -9), ("-11", -11), ("-64", -64)])
def test_without_libc_and_proc_the_command_ends_as_ever(
    empty_root: Path, ending: str, status: int
) -> None:
    returncode, trace = run_in(empty_root, "/task", ending)
    assert returncode == status
    assert trace["probe"]["state"] == "final"
    expected = ("exit", status) if status >= 0 else ("signal", -status)
    assert trace["probe"][expected[0]] == expected[1]


def test_without_proc_there_is_what_system_calls_tell(empty_root: Path) -> None:
    _, trace = run_in(empty_root, "/task", "0")
    proc, probe = trace["proc"], trace["probe"]
    assert 30 <= proc["realtime"] < 5000
    assert proc["peak_rss"] >= 19 * 1024  # the kernel's own counters are some pages behind
    assert proc["vol_ctxt"] >= 1
    assert proc["pct_cpu"] > 0
    for key in ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "vmem", "rss"):
        assert proc[key] == 0
        assert f"proc.{key}" in probe["unavailable"]
    assert "proc.io" not in probe["sources"]
    assert "gpu" not in trace
    assert "cgroup" not in trace


def test_without_libc_but_with_proc_everything_is_measured(empty_root: Path) -> None:
    returncode, trace = run_in(empty_root, "/task", "3", with_proc=True)
    assert returncode == 3
    assert trace["proc"]["wchar"] == 1000
    assert trace["proc"]["syscw"] == 1
    assert trace["proc"]["rss"] >= 19 * 1024
    assert trace["probe"]["sources"]["proc.io"] == "proc_io"


@pytest.mark.parametrize("options", [["--cgroup", "own"], ["--timeline"], ["--summary"]])
def test_no_option_needs_proc(empty_root: Path, options: list[str]) -> None:
    done = enter(empty_root, [*options, "--workdir", "/work", "--", "/task", "4"])
    assert done.returncode == 4


def test_check_says_what_is_missing_where_everything_is(empty_root: Path) -> None:
    done = enter(empty_root, ["--check", "--workdir", "/work"])
    assert done.returncode == 0
    assert b"proc" in done.stdout


def test_a_missing_command_is_127_there_too(empty_root: Path) -> None:
    assert enter(empty_root, ["--workdir", "/work", "--", "nothing"]).returncode == 127


@pytest.fixture
def memcheck(wrapper: Wrapper) -> Wrapper:
    """The wrapper under valgrind, which ends with 99 if it saw an error."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("no valgrind")
    if b"__asan_init" in Path(wrapper.entry[0]).read_bytes():
        pytest.skip("a sanitizer and valgrind do not go together")
    checked = [valgrind, "--quiet", "--error-exitcode=99", "--run-libc-freeres=no"]
    return Wrapper(entry=[*checked, *wrapper.entry], directory=wrapper.directory)


@pytest.mark.parametrize(
    "options",
    [
        ["--cgroup", "shared"],
        ["--cgroup", "own"],
        ["--timeline", "--interval", "20ms"],
        ["--summary"],
    ],
    ids=lambda options: options[0] + options[-1],
)
def test_memcheck_finds_nothing(memcheck: Wrapper, options: list[str]) -> None:
    script = "sleep 0.2 & (sleep 0.1 &); head -c 100000 /dev/zero >/dev/null; wait; exit 6"
    done = memcheck.run("sh", "-c", script, options=options)
    assert done.returncode == 6
    assert "==" not in done.stderr
    assert memcheck.trace()["probe"]["exit"] == 6


def test_memcheck_finds_nothing_with_a_device(
    memcheck: Wrapper, gpu_wrapper: Wrapper, mock_library: Path
) -> None:
    library = str(mock_library)
    done = memcheck.run("sleep", "0.5", GPU_PROBE_NVML_LIBRARY=library)
    assert (done.returncode, done.stderr) == (0, "")
    assert memcheck.trace()["probe"]["mock"]


def test_memcheck_finds_nothing_in_other_ends(memcheck: Wrapper) -> None:
    assert memcheck.run("no-such-command-anywhere").returncode == 127
    killed = memcheck.run("sh", "-c", "kill -9 $$")
    assert killed.returncode == -signal.SIGKILL
    assert killed.stderr.startswith("gpu-probe: killed by SIGKILL")
    checked = subprocess.run(
        [*memcheck.entry, "--check", "--json"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
