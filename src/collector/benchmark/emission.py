"""Copying the outputs of a work directory to where the user launched the benchmark."""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from collector.errors import BenchmarkInvalid, OutputRejected
from collector.executors import METADATA_NAMES

__all__ = ["check_patterns", "emit_outputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    source: Path
    target: Path


def check_patterns(patterns: Iterable[str], *, launch_directory: Path, force: bool) -> None:
    """Check, before anything runs, the globs of outputs as far as that is possible.

    Raises:
        BenchmarkInvalid: a glob is absolute or leaves the work directory.
        OutputRejected: a glob without wildcards names a file that exists already.
    """
    for pattern in patterns:
        path = PurePath(pattern)
        if not path.name or path.is_absolute() or ".." in path.parts:
            raise BenchmarkInvalid(
                f"--emit {pattern}: an output is named relative to the work directory, without .."
            )
        target = launch_directory / path
        if not force and target.exists() and not target.is_dir():
            raise _would_replace(target)


def emit_outputs(
    patterns: Sequence[str], *, workdir: Path, launch_directory: Path, force: bool
) -> tuple[list[PurePath], list[str]]:
    """Copy the outputs that match the globs into the launch directory, keeping relative paths.

    Never copied: our own files, staged inputs, and whatever lies outside the work directory. Of a
    directory every file is copied.

    Returns:
        The relative paths that were copied, and the globs that nothing matched.

    Raises:
        OutputRejected: a file would be replaced and `force` is off (nothing has been copied), or a
            file cannot be copied.
    """
    outputs: dict[PurePath, _Output] = {}
    unmatched = []
    for pattern in patterns:
        found = sorted(_matches(pattern, workdir))
        if not found:
            unmatched.append(pattern)
        for source in found:
            relative = source.relative_to(workdir)
            outputs[relative] = _Output(source=source, target=launch_directory / relative)
    for output in outputs.values():
        _check_place(output.target, force=force)
    for output in outputs.values():
        _copy(output)
    return list(outputs), unmatched


def _matches(pattern: str, workdir: Path) -> Iterator[Path]:
    root = workdir.resolve()
    for match in workdir.glob(pattern):
        relative = match.relative_to(workdir)
        if relative.parts and relative.parts[0] not in METADATA_NAMES:
            yield from _files(match, root)


def _files(path: Path, root: Path) -> Iterator[Path]:
    """Yield the regular files at and below a path that really lie below `root`."""
    if not path.resolve().is_relative_to(root):
        return
    if path.is_file():
        yield path
    elif path.is_dir():
        for directory, _, names in os.walk(path):
            for name in names:
                file = Path(directory, name)
                if file.is_file() and file.resolve().is_relative_to(root):
                    yield file


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
        with contextlib.suppress(OSError):
            beside.unlink()
        raise OutputRejected(
            f"{output.target}: cannot be copied from {output.source}: {error.strerror or error}"
        ) from error


def _would_replace(target: Path) -> OutputRejected:
    if target.is_dir():
        return OutputRejected(f"{target} is a directory; no output was copied")
    return OutputRejected(f"{target} exists already; remove it, or replace it with --force")
