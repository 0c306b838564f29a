from pathlib import Path, PurePosixPath

import pytest

from collector.benchmark import Staging, plan_staging
from collector.errors import BenchmarkInvalid
from collector.executors import StagedInput


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    """A launch directory with some files in it."""
    directory = tmp_path / "launch"
    (directory / "data").mkdir(parents=True)
    for name in ("in.txt", "train.py", "tool", "data/x.csv", ".command.sh"):
        (directory / name).touch()
    (tmp_path / "outside.txt").touch()
    return directory


def targets(staging: Staging) -> list[str]:
    return [str(item.target) for item in staging.inputs]


@pytest.mark.parametrize(
    ("argv", "staged"),
    [
        (["cat", "in.txt"], ["in.txt"]),
        (["python", "train.py", "--data", "data/x.csv"], ["train.py", "data/x.csv"]),
        (["cat", "./in.txt", "data/../in.txt"], ["in.txt"]),
        (["cat", "--file=in.txt"], ["in.txt"]),
        (["cat", "data/x.csv", "data"], ["data"]),
        (["./tool"], ["tool"]),
        (["tool"], []),
        (["find", ".", "", "-name", "none.txt"], []),
        (["dd", "of=in.txt"], []),
        (["cat", "/etc/hostname"], []),
        (["echo", "x" * 10_000, "a\0b"], []),
    ],
)
def test_relative_paths_among_the_arguments_are_staged(
    launch: Path, argv: list[str], staged: list[str]
) -> None:
    plan = plan_staging(argv, launch_directory=launch)
    assert targets(plan) == staged
    assert all(item.source == launch / item.target for item in plan.inputs)
    assert plan.notes == ()


def test_paths_outside_the_launch_directory_are_said_and_not_staged(launch: Path) -> None:
    plan = plan_staging(["cat", "../outside.txt", "../none.txt"], launch_directory=launch)
    assert plan.inputs == ()
    assert len(plan.notes) == 1
    assert "../outside.txt lies outside" in plan.notes[0]


@pytest.mark.parametrize(
    ("argument", "pattern"),
    [
        ("in.txt", "in.txt"),
        ("in.txt", "*.txt"),
        ("in.txt", "**/*.txt"),
        ("data", "data/*"),
        ("data/x.csv", "data/*"),
        ("data", "data/x.csv"),
    ],
)
def test_an_output_of_an_earlier_run_is_not_staged(
    launch: Path, argument: str, pattern: str
) -> None:
    plan = plan_staging(["cmd", argument], launch_directory=launch, outputs=[pattern])
    assert plan.inputs == ()
    assert "--emit makes it an output" in plan.notes[0]


def test_an_explicit_input_is_staged_even_if_it_looks_like_an_output(launch: Path) -> None:
    plan = plan_staging(
        ["cmd", "in.txt"], launch_directory=launch, inputs=[Path("in.txt")], outputs=["*.txt"]
    )
    assert targets(plan) == ["in.txt"]
    assert plan.notes == ()


@pytest.mark.parametrize("path", ["../outside.txt", "{launch}/../outside.txt"])
def test_an_input_from_elsewhere_is_linked_under_its_own_name(launch: Path, path: str) -> None:
    given = Path(path.format(launch=launch))
    plan = plan_staging(["cmd"], launch_directory=launch, inputs=[given])
    assert plan.inputs == (
        StagedInput(source=launch.parent / "outside.txt", target=PurePosixPath("outside.txt")),
    )


def test_an_input_keeps_its_relative_place(launch: Path) -> None:
    plan = plan_staging(["cmd"], launch_directory=launch, inputs=[Path("data/x.csv")])
    assert targets(plan) == ["data/x.csv"]


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        (["none.txt"], "no such file"),
        (["."], "cannot be linked"),
        ([".command.sh"], "cannot be linked"),
        (["in.txt", "{launch}/data/../../in.txt"], "staged as in.txt already"),
    ],
)
def test_an_input_that_cannot_be_staged_is_an_error(
    launch: Path, inputs: list[str], reason: str
) -> None:
    (launch.parent / "in.txt").touch()
    paths = [Path(path.format(launch=launch)) for path in inputs]
    with pytest.raises(BenchmarkInvalid, match=reason):
        plan_staging(["cmd"], launch_directory=launch, inputs=paths)


def test_our_own_names_are_not_staged(launch: Path) -> None:
    plan = plan_staging(["sh", ".command.sh"], launch_directory=launch)
    assert plan.inputs == ()
    assert ".command.sh is not staged" in plan.notes[0]
