import json
from pathlib import Path, PurePosixPath

import pytest

from collector.errors import ExecutorFailed
from collector.executors import (
    LocalExecutor,
    Resources,
    StagedInput,
    Task,
    find_wrapper,
    new_work_directory,
    task_digest,
    wrap_command,
)
from collector.executors.directory import Progress, populate, write_task_file


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


@pytest.fixture
def no_installed_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Directories of interpreter and scripts that hold no gpu-probe."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "scripts"))
    return tmp_path


def test_a_command_is_wrapped_word_by_word() -> None:
    argv = ["sh", "-c", "echo 'a b'", "--", "--help"]
    wrapped = wrap_command(argv, wrapper=Path("/opt/gpu-probe"), workdir=Path("/w/ab/cd"))
    assert wrapped == ["/opt/gpu-probe", "--workdir", "/w/ab/cd", "--timeline", "--", *argv]


def test_without_a_wrapper_a_command_runs_bare() -> None:
    assert wrap_command(["true", "x"], wrapper=None, workdir=Path("/w")) == ["true", "x"]


@pytest.mark.parametrize("place", ["bin", "scripts", "path"])
def test_the_wrapper_is_found(no_installed_wrapper: Path, place: str) -> None:
    wrapper = executable(no_installed_wrapper / place / "gpu-probe")
    environment = {"PATH": str(no_installed_wrapper / "path")}
    assert find_wrapper(environment) == wrapper


def test_the_variable_decides_alone(no_installed_wrapper: Path) -> None:
    executable(no_installed_wrapper / "bin" / "gpu-probe")
    named = executable(no_installed_wrapper / "named")
    assert find_wrapper({"GPU_PROBE": str(named)}) == named
    assert find_wrapper({"GPU_PROBE": str(named.with_name("none"))}) is None
    named.chmod(0o644)
    assert find_wrapper({"GPU_PROBE": str(named)}) is None


def test_there_may_be_no_wrapper(no_installed_wrapper: Path) -> None:
    assert find_wrapper({"PATH": str(no_installed_wrapper)}) is None


def test_b_4_each_execution_has_its_own_directory() -> None:
    base = {"process": "P", "tag": None, "repeat": 1}
    digests = {
        task_digest(argv, salt=salt, identity=identity)
        for argv in (["a"], ["a", ""], ["b"])
        for salt in (b"1", b"2")
        for identity in (base, {**base, "repeat": 2}, {**base, "tag": "t"}, {**base, "process": ""})
    }
    assert len(digests) == 24
    assert all(len(digest) == 32 and int(digest, 16) >= 0 for digest in digests)
    assert task_digest(["a"], salt=b"1", identity=base) in digests


def test_a_work_directory_is_named_as_nextflow_names_it(tmp_path: Path) -> None:
    digest = "ab" + "cdef01" + "2" * 24
    workdir, abbreviated = new_work_directory(tmp_path, digest)
    assert workdir == tmp_path / "ab" / ("cdef01" + "2" * 24)
    assert abbreviated == "ab/cdef01"
    assert not workdir.exists()


def task(workdir: Path) -> Task:
    return Task(
        task_id="1",
        hash="ab/cdef01",
        process="P",
        tag="s1",
        argv=("echo", "a b", "it's"),
        workdir=workdir,
        repeat=2,
        inputs=(StagedInput(source=workdir.parent / "x", target=PurePosixPath("d/x")),),
        resources=Resources(cpus=2, accelerator=1),
    )


def test_a_work_directory_is_populated_once(tmp_path: Path) -> None:
    first = task(tmp_path / "w")
    populate(first)
    assert (tmp_path / "w" / "d" / "x").readlink() == tmp_path / "x"
    assert (tmp_path / "w" / ".command.sh").read_text() == ("#!/bin/sh\necho 'a b' 'it'\"'\"'s'\n")
    with pytest.raises(FileExistsError):
        populate(first)


def test_a_task_file_says_what_is_known(tmp_path: Path) -> None:
    write_task_file(task(tmp_path), Progress(submit_ms=5), executor="local", fusion=True)
    assert json.loads((tmp_path / ".task.json").read_bytes()) == {
        "schema": 1,
        "task_id": "1",
        "hash": "ab/cdef01",
        "process": "P",
        "name": "P (s1)",
        "tag": "s1",
        "executor": "local",
        "attempt": 1,
        "repeat": 2,
        "submit": 5,
        "workdir": str(tmp_path),
        "script": "echo 'a b' 'it'\"'\"'s'",
        "cpus": 2,
        "accelerator": 1,
        "fusion": True,
    }


def test_only_a_queued_task_can_be_waited_for(tmp_path: Path) -> None:
    executor = LocalExecutor(wrapper=None, now_ms=lambda: 5)
    queued = task(tmp_path / "w")
    with pytest.raises(ExecutorFailed, match="not queued"):
        executor.wait(queued)
    executor.submit(queued)
    executor.cancel(queued)
    with pytest.raises(ExecutorFailed, match="not queued"):
        executor.wait(queued)
    assert json.loads((tmp_path / "w" / ".task.json").read_bytes())["submit"] == 5


def test_a_work_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExecutorFailed, match=r"task 1: .*file"):
        LocalExecutor(wrapper=None).submit(task(tmp_path / "file" / "w"))
