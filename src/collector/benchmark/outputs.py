"""Finding the outputs in a work directory, and the reasons for which something is none."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from collector.executors import METADATA_NAMES

__all__ = ["Found", "find_outputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The output files that a glob names, relative to the work directory, and what is wrong.

    `problem` is a phrase about what the glob names and is no output; `None` where all is well.
    """

    files: tuple[PurePath, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A file that a glob names; `refusal` says why it is no output.

    `expected` refusals are those of files that every work directory has, and that a wide glob names
    without meaning them.
    """

    path: PurePath
    refusal: str | None = None
    expected: bool = False


def find_outputs(pattern: str, *, workdir: Path, inputs: Collection[PurePath]) -> Found:
    """Find what a glob names: files of the work directory, and the files of its directories.

    Our own files, staged inputs (`inputs`, relative), and whatever is not a regular file or lies
    outside the work directory is no output.
    """
    candidates: list[_Candidate] = []
    for match in sorted(_matches(pattern, workdir)):
        candidates.extend(_candidates(match, workdir, inputs))
    files = tuple(candidate.path for candidate in candidates if candidate.refusal is None)
    problems = [each for each in candidates if each.refusal and not (files and each.expected)]
    problems.sort(key=lambda candidate: candidate.expected)
    if problems:
        more = f", and {len(problems) - 1} more cannot be copied" if len(problems) > 1 else ""
        return Found(files=files, problem=f"{problems[0].path} {problems[0].refusal}{more}")
    return Found(files=files, problem=None if files else "the command made no such file")


def _matches(pattern: str, workdir: Path) -> set[Path]:
    matches = set(workdir.glob(pattern))
    if os.path.lexists(workdir / pattern):  # a glob does not see a link that leads nowhere
        matches.add(workdir / pattern)
    return matches - {workdir}


def _candidates(match: Path, workdir: Path, inputs: Collection[PurePath]) -> Iterator[_Candidate]:
    relative = match.relative_to(workdir)
    if relative.parts[0] in METADATA_NAMES:
        refusal = "is a file of gpu-bench's own"
        yield _Candidate(path=relative, refusal=refusal, expected=True)
        return
    if _is_inside(match, workdir) and match.is_dir():
        files = list(_files_below(match))
        if not files:
            refusal = "is a directory without files"
            yield _Candidate(path=relative, refusal=refusal, expected=True)
    else:
        files = [match]
    for file in files:
        yield _judge(file, workdir, inputs)


def _files_below(directory: Path) -> Iterator[Path]:
    """Yield what is not a directory, links to directories included, in a fixed order."""
    for above, directories, names in os.walk(directory):
        directories.sort()
        links = [name for name in directories if Path(above, name).is_symlink()]
        for name in sorted([*names, *links]):
            yield Path(above, name)


def _judge(file: Path, workdir: Path, inputs: Collection[PurePath]) -> _Candidate:
    relative = file.relative_to(workdir)
    if not _is_inside(file, workdir):
        if any(place in inputs for place in (relative, *relative.parents)):
            refusal = "is a staged input, not an output"
            return _Candidate(path=relative, refusal=refusal, expected=True)
        real = os.path.realpath(file)
        refusal = f"is a link that leads outside the work directory, to {real}"
    elif file.is_file():
        return _Candidate(path=relative)
    elif file.is_dir():
        refusal = "is a link to a directory, which is not followed"
    elif not file.exists():
        refusal = "is a link that leads nowhere"
    else:
        refusal = "is not a regular file"
    return _Candidate(path=relative, refusal=refusal)


def _is_inside(path: Path, workdir: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workdir))
