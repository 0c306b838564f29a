"""Copying the outputs of a work directory to where the user launched the benchmark."""

import contextlib
import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from collector.benchmark.outputs import find_outputs
from collector.errors import BenchmarkInvalid, OutputRejected

__all__ = ["Emission", "check_patterns", "emit_outputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """The relative paths that were copied, and for each glob why something was not."""

    copied: tuple[PurePath, ...]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    source: Path
    target: Path


def check_patterns(patterns: Iterable[str], *, launch_directory: Path, force: bool) -> None:
    """Check, before anything runs, the globs of outputs as far as that is possible.

    Raises:
        BenchmarkInvalid: a glob is malformed, absolute, or leaves the work directory.
        OutputRejected: a glob without wildcards names a file that exists already.
    """
    for pattern in patterns:
        path = PurePath(pattern)
        if not path.name or path.is_absolute() or ".." in path.parts:
            raise BenchmarkInvalid(
                f"--emit {pattern}: an output is named relative to the work directory, without .."
            )
        try:
            next(iter(Path(os.devnull).glob(pattern)), None)  # looks nowhere, but parses
        except (ValueError, NotImplementedError, re.error) as error:
            raise BenchmarkInvalid(f"--emit {pattern}: not a glob: {error}") from error
        target = launch_directory / path
        if not force and target.exists() and not target.is_dir():
            raise _would_replace(target)


def emit_outputs(
    patterns: Sequence[str],
    *,
    workdir: Path,
    inputs: Collection[PurePath],
    launch_directory: Path,
    force: bool,
) -> Emission:
    """Copy the outputs that match the globs into the launch directory, keeping relative paths.

    Never copied: our own files, staged inputs (`inputs`, relative), and whatever lies outside the
    work directory. Of a directory every file is copied.

    Raises:
        OutputRejected: a file would be replaced and `force` is off (nothing has been copied), or a
            file cannot be copied.
    """
    outputs: dict[PurePath, _Output] = {}
    missing = {}
    for pattern in patterns:
        found = find_outputs(pattern, workdir=workdir, inputs=inputs)
        if found.problem is not None:
            missing[pattern] = found.problem
        for path in found.files:
            outputs[path] = _Output(source=workdir / path, target=launch_directory / path)
    try:
        for output in outputs.values():
            _check_place(output.target, force=force)
        for output in outputs.values():
            _copy(output)
    except OutputRejected as error:
        raise OutputRejected(
            f"{error}; the outputs are safe in {workdir}: copy them from there, no rerun is needed"
        ) from error
    return Emission(copied=tuple(outputs), missing=missing)


def _check_place(target: Path, *, force: bool) -> None:
    if os.path.lexists(target) and (target.is_dir() or not force):
        raise _would_replace(target)
    above = next(parent for parent in target.parents if os.path.lexists(parent))
    if not above.is_dir():
        raise OutputRejected(f"{above} is not a directory, so {target} cannot be made below it")


def _copy(output: _Output) -> None:
    beside = output.target.with_name(f".{output.target.name}.{os.getpid()}.tmp")
    try:
        output.target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(output.source, beside)
        beside.replace(output.target)
    except OSError as error:
        raise OutputRejected(
            f"{output.target}: cannot be copied from {output.source}: {error.strerror or error}"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def _would_replace(target: Path) -> OutputRejected:
    if target.is_dir():
        return OutputRejected(f"{target} is a directory; no output was copied")
    return OutputRejected(f"{target} exists already; remove it, or replace it with --force")
