import os
from pathlib import Path, PurePosixPath

import pytest

from collector.benchmark import check_patterns, emit_outputs
from collector.errors import BenchmarkInvalid, OutputRejected


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    directory = tmp_path / "launch"
    directory.mkdir()
    (directory / "in.txt").write_text("input")
    (directory / "shared").mkdir()
    (directory / "shared" / "big.txt").write_text("input")
    return directory


@pytest.fixture
def workdir(launch: Path) -> Path:
    """A work directory with outputs, staged inputs and our own files."""
    directory = launch / "work" / "ab" / "cdef"
    (directory / "out" / "deep").mkdir(parents=True)
    (directory / "a.txt").write_text("a")
    (directory / "b.txt").write_text("b")
    (directory / "out" / "deep" / "c.txt").write_text("c")
    (directory / "in.txt").symlink_to(launch / "in.txt")
    (directory / "shared").symlink_to(launch / "shared")
    (directory / "latest").symlink_to("a.txt")
    for name in (".command.sh", ".command.out", ".task.json", ".exitcode"):
        (directory / name).write_text("ours")
    (directory / ".fusion").mkdir()
    (directory / ".fusion" / "trace.json").write_text("{}")
    return directory


def emit(
    workdir: Path, launch: Path, *patterns: str, force: bool = False
) -> tuple[list[str], dict[str, str]]:
    emission = emit_outputs(
        patterns,
        workdir=workdir,
        inputs=[PurePosixPath("in.txt"), PurePosixPath("shared")],
        launch_directory=launch,
        force=force,
    )
    return sorted(str(path) for path in emission.copied), dict(emission.missing)


@pytest.mark.parametrize(
    ("pattern", "copied"),
    [
        ("a.txt", ["a.txt"]),
        ("[ab].txt", ["a.txt", "b.txt"]),
        ("out", ["out/deep/c.txt"]),
        ("out/*/*.txt", ["out/deep/c.txt"]),
        ("**/c.txt", ["out/deep/c.txt"]),
        ("latest", ["latest"]),
        ("./a.txt", ["a.txt"]),
    ],
)
def test_b_7_outputs_keep_their_relative_paths(
    workdir: Path, launch: Path, pattern: str, copied: list[str]
) -> None:
    assert emit(workdir, launch, pattern) == (copied, {})
    for path in copied:
        assert (launch / path).read_bytes() == (workdir / path).read_bytes()
        assert not (launch / path).is_symlink()


def test_inputs_and_our_own_files_are_never_emitted(workdir: Path, launch: Path) -> None:
    copied, missing = emit(workdir, launch, "*", "in.txt", "shared/*", ".fusion/*", ".command.*")
    assert copied == ["a.txt", "b.txt", "latest", "out/deep/c.txt"]
    assert missing == {
        "in.txt": "in.txt is a staged input, not an output",
        "shared/*": "shared/big.txt is a staged input, not an output",
        ".fusion/*": ".fusion/trace.json is a file of gpu-bench's own",
        ".command.*": ".command.out is a file of gpu-bench's own, and 1 more cannot be copied",
    }
    assert (launch / "in.txt").read_text() == "input"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fifo", "out/fifo is not a regular file"),
        ("leak", "out/leak is a link that leads outside the work directory, to /etc/passwd"),
        ("dangling", "out/dangling is a link that leads nowhere"),
        ("again", "out/again is a link to a directory, which is not followed"),
    ],
)
def test_what_is_not_emitted_is_said_with_its_reason(
    workdir: Path, launch: Path, name: str, reason: str
) -> None:
    path = workdir / "out" / name
    links = {"leak": "/etc/passwd", "dangling": "none", "again": "deep"}
    if name in links:
        path.symlink_to(links[name])
    else:
        os.mkfifo(path)
    assert emit(workdir, launch, "out") == (["out/deep/c.txt"], {"out": reason})


def test_all_that_is_not_emitted_is_counted(workdir: Path, launch: Path) -> None:
    for name in ("d1", "d2", "d3"):
        (workdir / "out" / name).symlink_to("none")
    reason = "out/d1 is a link that leads nowhere, and 2 more cannot be copied"
    assert emit(workdir, launch, "out") == (["out/deep/c.txt"], {"out": reason})


def test_a_named_output_that_is_not_there_is_said_with_its_reason(
    workdir: Path, launch: Path
) -> None:
    os.mkfifo(workdir / "fifo")
    (workdir / "leak").symlink_to("/etc/passwd")
    (workdir / "dangling").symlink_to("none")
    (workdir / "loop").symlink_to("loop")
    (workdir / "empty").mkdir()
    names = ("fifo", "leak", "dangling", "loop", "empty", "none", "*.none")
    assert emit(workdir, launch, *names) == (
        [],
        {
            "fifo": "fifo is not a regular file",
            "leak": "leak is a link that leads outside the work directory, to /etc/passwd",
            "dangling": "dangling is a link that leads nowhere",
            "loop": "loop is a link that leads nowhere",
            "empty": "empty is a directory without files",
            "none": "the command made no such file",
            "*.none": "the command made no such file",
        },
    )


def test_an_input_that_the_command_replaced_is_an_output(workdir: Path, launch: Path) -> None:
    (workdir / "in.txt").unlink()
    (workdir / "in.txt").write_text("new")
    assert emit(workdir, launch, "in.txt", force=True) == (["in.txt"], {})


def test_nothing_is_copied_over_an_existing_file(workdir: Path, launch: Path) -> None:
    (launch / "b.txt").write_text("mine")
    with pytest.raises(OutputRejected, match=r"b\.txt exists already.*--force"):
        emit(workdir, launch, "a.txt", "b.txt")
    assert (launch / "b.txt").read_text() == "mine"
    assert not (launch / "a.txt").exists()


def test_a_dangling_link_counts_as_existing(workdir: Path, launch: Path) -> None:
    (launch / "a.txt").symlink_to("none")
    with pytest.raises(OutputRejected, match="exists already"):
        emit(workdir, launch, "a.txt")


def test_force_replaces_files_but_no_directory(workdir: Path, launch: Path) -> None:
    (launch / "b.txt").write_text("mine")
    assert emit(workdir, launch, "b.txt", force=True) == (["b.txt"], {})
    assert (launch / "b.txt").read_text() == "b"
    (launch / "a.txt").mkdir()
    with pytest.raises(OutputRejected, match="is a directory"):
        emit(workdir, launch, "a.txt", force=True)


def test_a_file_where_a_directory_is_needed_is_found_before_copying(
    workdir: Path, launch: Path
) -> None:
    (launch / "out").write_text("a file")
    with pytest.raises(OutputRejected, match="out is not a directory"):
        emit(workdir, launch, "a.txt", "out", force=True)
    assert not (launch / "a.txt").exists()


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../x", "out/../../x", "", "."])
def test_globs_stay_in_the_work_directory(launch: Path, pattern: str) -> None:
    with pytest.raises(BenchmarkInvalid, match="relative to the work directory"):
        check_patterns([pattern], launch_directory=launch, force=True)


def test_a_named_output_that_exists_is_found_before_anything_runs(launch: Path) -> None:
    check_patterns(["*.txt", "shared", "new.txt"], launch_directory=launch, force=False)
    check_patterns(["in.txt"], launch_directory=launch, force=True)
    with pytest.raises(OutputRejected, match=r"in\.txt exists already"):
        check_patterns(["in.txt"], launch_directory=launch, force=False)


def test_an_interrupted_copy_leaves_nothing_behind(
    workdir: Path, launch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(launch.iterdir())

    def interrupt(_source: Path, target: Path) -> None:
        target.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.copy2", interrupt)
    with pytest.raises(KeyboardInterrupt):
        emit(workdir, launch, "a.txt")
    assert sorted(launch.iterdir()) == before
