"""What the wrapper inherits is the command's: descriptors, and the right to leave a core."""

import os
import resource
import select
import subprocess
import sys
from pathlib import Path

import pytest

import probe
from helpers.wrapper import Wrapper

PATIENCE_S = 10


@pytest.fixture(params=["no device", "a device"])
def any_wrapper(request: pytest.FixtureRequest, tmp_path: Path) -> Wrapper:
    """Without and with the process that reads the driver; both with one that writes the traces."""
    name = "wrapper" if request.param == "no device" else "gpu_wrapper"
    if name == "gpu_wrapper":
        (tmp_path / "scenario.txt").write_text("device 0\n")
    found = request.getfixturevalue(name)
    assert isinstance(found, Wrapper)
    return found


def test_the_last_writer_of_an_inherited_pipe_is_the_command(any_wrapper: Wrapper) -> None:
    """The command writes, closes its end and goes on; a reader then sees the end at once."""
    read_end, write_end = os.pipe()
    high = os.dup2(write_end, 200, inheritable=True)
    script = f"echo written >&{write_end}; exec {write_end}>&-; read line"
    closing = f"import os; os.close({high}); os.execvp('bash', ['bash', '-c', {script!r}])"
    process = subprocess.Popen(
        any_wrapper.command(sys.executable, "-c", closing),
        env=os.environ | any_wrapper.environment,
        stdin=subprocess.PIPE,
        pass_fds=[write_end, high],
    )
    os.close(write_end)
    os.close(high)
    with os.fdopen(read_end) as reader:
        os.set_blocking(read_end, True)
        assert reader.read() == "written\n"  # returns at the end of the pipe
    assert process.poll() is None
    process.communicate(b"\n", timeout=PATIENCE_S)
    assert process.returncode == 0


def test_an_inherited_lock_is_held_by_the_command_alone(any_wrapper: Wrapper) -> None:
    """A lock goes with its last holder: flock waits for as long as anybody has the file open."""
    lock = any_wrapper.directory / "lock"
    code = (
        "import fcntl, os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX)\n"
        "os.set_inheritable(fd, True)\n"
        "os.execvp(sys.argv[2], sys.argv[2:])\n"
    )
    release = (
        f"for fd in /proc/self/fd/*; do [ $fd -ef {lock} ] && eval exec ${{fd##*/}}'>&-'; done"
    )
    script = f"flock -n {lock} true || echo held; {release}; echo released; read line"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(lock), *any_wrapper.command("bash", "-c", script)],
        env=os.environ | any_wrapper.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["held\n", "released\n"]
    any_wrapper.wait_for_trace()
    taken = subprocess.run(["flock", "-w", "5", str(lock), "true"], check=False)
    assert process.poll() is None
    process.communicate("\n", timeout=PATIENCE_S)
    assert taken.returncode == 0


def test_a_sampled_program_has_its_pipe_to_itself(
    mock_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper is started inside a program whose descriptors are no business of ours."""
    (tmp_path / "scenario.txt").write_text("device 0\n")
    monkeypatch.setenv("NVMLMOCK_SCENARIO", str(tmp_path / "scenario.txt"))
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    with probe.Sampler(tmp_path, nvml_library=mock_library):
        os.close(write_end)
        ended, _, _ = select.select([read_end], [], [], PATIENCE_S)
    assert ended == [read_end]
    assert os.read(read_end, 1) == b""
    os.close(read_end)


def status_and_cores(command: list[str], directory: Path) -> tuple[int, int]:
    """Run with no limit on cores; give the wait status and the number of files it left."""
    directory.mkdir()

    def allow_cores() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    process = subprocess.Popen(
        command,
        cwd=directory,
        stdout=subprocess.DEVNULL,
        preexec_fn=allow_cores,  # noqa: PLW1509 - a limit of the child's alone
    )
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return status, len(list(directory.iterdir()))


def test_only_the_command_leaves_a_core(wrapper: Wrapper, tmp_path: Path) -> None:
    """A core of the wrapper would be of no use, and could take the place of the command's."""
    if Path("/proc/sys/kernel/core_pattern").read_text().startswith(("|", "/")):
        pytest.skip("cores of this host go elsewhere")
    command = ["sh", "-c", "ulimit -c >&2; kill -SEGV $$"]
    bare, cores = status_and_cores(command, tmp_path / "bare")
    if not os.WCOREDUMP(bare):
        pytest.skip("no cores are left here")
    assert cores == 1
    status, cores = status_and_cores(wrapper.command(*command), tmp_path / "wrapped")
    assert os.WTERMSIG(status) == os.WTERMSIG(bare)
    assert not os.WCOREDUMP(status)
    assert cores == 1
    [core] = (tmp_path / "wrapped").iterdir()
    assert b"kill -SEGV" in core.read_bytes()  # the stack of the shell, with its words


def test_the_limit_of_cores_is_the_callers(wrapper: Wrapper) -> None:
    limits = "ulimit -Sc; ulimit -Hc"
    done = subprocess.run(
        ["bash", "-c", 'ulimit -Sc 17; exec "$@"', "bash", *wrapper.command("bash", "-c", limits)],
        capture_output=True,
        text=True,
        check=True,
    )
    bare = subprocess.run(
        ["bash", "-c", f"ulimit -Sc 17; {limits}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == bare.stdout
    assert done.stdout.startswith("17\n")
