import json
from pathlib import Path, PurePosixPath

import pytest

from collector.errors import ExecutorFailed
from collector.executors import (
    LocalExecutor,
    Resources,
    StagedInput,
    Task,
    check_work_root,
    find_wrapper,
    new_work_directory,
    run_digest,
    task_digest,
    why_not_wrapped,
    wrap_command,
)
from collector.executors.directory import Progress, populate, write_task_file


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


@pytest.fixture
def no_installed_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Directories of interpreter, scripts and gpu-bench that hold no gpu-probe."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("sys.argv", [str(tmp_path / "started" / "gpu-bench")])
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "scripts"))
    return tmp_path


def test_a_command_is_wrapped_word_by_word() -> None:
    argv = ["sh", "-c", "echo 'a b'", "--", "--help"]
    wrapped = wrap_command(argv, wrapper=Path("/opt/gpu-probe"), workdir=Path("/w/ab/cd"))
    assert wrapped == ["/opt/gpu-probe", "--workdir", "/w/ab/cd", "--timeline", "--", *argv]


def test_without_a_wrapper_a_command_runs_bare() -> None:
    assert wrap_command(["true", "x"], wrapper=None, workdir=Path("/w")) == ["true", "x"]


@pytest.mark.parametrize("place", ["bin", "scripts", "started", "path"])
def test_the_wrapper_is_found(no_installed_wrapper: Path, place: str) -> None:
    wrapper = executable(no_installed_wrapper / place / "gpu-probe")
    environment = {"PATH": str(no_installed_wrapper / "path")}
    assert find_wrapper(environment) == wrapper


def test_a_link_to_gpu_bench_leads_to_the_wrapper(
    no_installed_wrapper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = no_installed_wrapper / "link"
    link.symlink_to(executable(no_installed_wrapper / "real" / "gpu-bench"))
    wrapper = executable(no_installed_wrapper / "real" / "gpu-probe")
    monkeypatch.setattr("sys.argv", [str(link)])
    assert find_wrapper({"PATH": ""}) == wrapper


def test_what_is_no_path_of_a_program_is_not_looked_beside(
    no_installed_wrapper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(no_installed_wrapper / "gpu-probe")
    monkeypatch.chdir(no_installed_wrapper)
    for argv in (["-c"], [""], []):
        monkeypatch.setattr("sys.argv", argv)
        assert find_wrapper({"PATH": ""}) is None


def test_the_variable_decides_alone(no_installed_wrapper: Path) -> None:
    executable(no_installed_wrapper / "bin" / "gpu-probe")
    named = executable(no_installed_wrapper / "named")
    assert find_wrapper({"GPU_PROBE": str(named)}) == named
    assert find_wrapper({"GPU_PROBE": str(named.with_name("none"))}) is None
    named.chmod(0o644)
    assert find_wrapper({"GPU_PROBE": str(named)}) is None


def test_there_may_be_no_wrapper(no_installed_wrapper: Path) -> None:
    environment = {"PATH": str(no_installed_wrapper)}
    assert find_wrapper(environment) is None
    reason = why_not_wrapped(environment)
    for place in ("bin", "scripts", "started"):
        assert str(no_installed_wrapper / place) in reason
    assert "PATH" in reason
    assert "pip install gpu-probe" in reason
    assert "GPU_PROBE=/path/to/gpu-probe" in reason


@pytest.mark.parametrize("exists", [False, True])
def test_a_variable_that_names_no_executable_is_said(
    no_installed_wrapper: Path, exists: bool
) -> None:
    named = no_installed_wrapper / "named"
    if exists:
        named.touch(mode=0o644)
    reason = why_not_wrapped({"GPU_PROBE": str(named)})
    assert reason == f"GPU_PROBE={named} is not an executable file"


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


def test_a_run_is_named_by_its_salt() -> None:
    names = {run_digest(salt) for salt in (b"1", b"2", b"1")}
    assert len(names) == 2
    assert all(len(name) == 12 and int(name, 16) >= 0 for name in names)


@pytest.mark.parametrize("below", [".", "sub/work"])
def test_a_work_root_that_is_a_file_is_named(tmp_path: Path, below: str) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(ExecutorFailed, match=f"--work-dir {taken / below}: .*not a directory"):
        check_work_root(taken / below)


def test_a_work_root_may_be_made_or_be_there(tmp_path: Path) -> None:
    check_work_root(tmp_path)
    check_work_root(tmp_path / "new" / "work")
    assert list(tmp_path.iterdir()) == []


def test_a_work_root_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ExecutorFailed, match=f"--work-dir {tmp_path}.*not writable"):
        check_work_root(tmp_path)


def task(workdir: Path) -> Task:
    return Task(
        task_id="1",
        hash="ab/cdef01",
        process="P",
        tag="s1",
        argv=("echo", "a b", "it's"),
        workdir=workdir,
        repeat=2,
        run="0123456789ab",
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
    progress = Progress(submit_ms=5, hostname="node1")
    write_task_file(task(tmp_path), progress, executor="local", fusion=True)
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
        "run": "0123456789ab",
        "submit": 5,
        "hostname": "node1",
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
    assert not (tmp_path / "w").exists()


def test_a_work_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    executor = LocalExecutor(wrapper=None)
    refused = task(tmp_path / "file" / "w")
    executor.submit(refused)
    with pytest.raises(ExecutorFailed, match=r"task 1: .*file"):
        executor.wait(refused)
