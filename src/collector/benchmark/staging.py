"""Which files of the launch directory a command needs in its work directories."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from collector.errors import BenchmarkInvalid
from collector.executors import METADATA_NAMES, StagedInput

__all__ = ["Staging", "plan_staging"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """The links to make, and the arguments that name something which cannot be linked.

    `notes` has a sentence for each path among the arguments that exists but is not staged.
    """

    inputs: tuple[StagedInput, ...] = ()
    notes: tuple[str, ...] = ()


def plan_staging(
    argv: Sequence[str],
    *,
    launch_directory: Path,
    inputs: Iterable[Path] = (),
    outputs: Sequence[str] = (),
) -> Staging:
    """Plan the links of one command's work directories.

    Staged are `inputs`, and those arguments (also the value of an `--option=value`) that are
    relative paths of something in the launch directory. Relative paths keep their place; inputs
    from elsewhere are linked under their own name. An argument that the globs in `outputs` name is
    something that the command makes, and is not staged: it would be written through the link.

    Raises:
        BenchmarkInvalid: an input does not exist, or two of them have one place.
    """
    planned: dict[PurePosixPath, Path] = {}
    for path in inputs:
        _add(planned, _place_of(path), launch_directory / path)
    notes = []
    for target in _paths_among(argv, launch_directory):
        if ".." in target.parts:
            notes.append(
                f"{target} lies outside the launch directory and is not staged; "
                "give an absolute path, or use --here"
            )
        elif target.parts[0] in METADATA_NAMES:
            notes.append(f"{target} is not staged: the name is used in work directories")
        elif target not in planned and any(_names(pattern, target) for pattern in outputs):
            notes.append(f"{target} is not staged: --emit makes it an output")
        else:
            planned.setdefault(target, launch_directory / target)
    return Staging(inputs=tuple(_without_nested(planned)), notes=tuple(notes))


def _names(pattern: str, target: PurePosixPath) -> bool:
    """Say whether a glob of outputs names a path, or something below it."""
    path = str(target)
    return (
        fnmatchcase(path, pattern)
        or fnmatchcase(path, pattern.removeprefix("**/"))
        or PurePosixPath(pattern).is_relative_to(target)
    )


def _place_of(path: Path) -> PurePosixPath:
    normal = PurePosixPath(os.path.normpath(path))
    return PurePosixPath(normal.name) if normal.is_absolute() or ".." in normal.parts else normal


def _add(planned: dict[PurePosixPath, Path], target: PurePosixPath, source: Path) -> None:
    if not source.exists():
        raise BenchmarkInvalid(f"--input {source}: no such file or directory")
    if not target.name or target.parts[0] in METADATA_NAMES:
        raise BenchmarkInvalid(f"--input {source}: cannot be linked as {target}; name a file in it")
    source = Path(os.path.normpath(source))
    if planned.setdefault(target, source) != source:
        raise BenchmarkInvalid(
            f"--input {source}: {planned[target]} is staged as {target} already; rename one of them"
        )


def _paths_among(argv: Sequence[str], launch_directory: Path) -> list[PurePosixPath]:
    """Return the arguments that are relative paths of something that exists, normalized."""
    words = [argv[0]] if "/" in argv[0] else []  # a plain command name is looked up on PATH
    for word in argv[1:]:
        option, equals, value = word.partition("=")
        words.append(value if equals and option.startswith("-") else word)
    found = []
    for word in words:
        path = PurePosixPath(os.path.normpath(word))
        is_relative = bool(word) and not path.is_absolute() and str(path) != "."
        if is_relative and _exists(launch_directory / path):
            found.append(path)
    return found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or a null character: no path
        return False


def _without_nested(planned: dict[PurePosixPath, Path]) -> Iterable[StagedInput]:
    """Leave out what is reached through the link of a directory above it."""
    for target, source in planned.items():
        if not any(parent in planned for parent in target.parents):
            yield StagedInput(source=source, target=target)
