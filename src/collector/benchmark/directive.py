"""The benchmark directive: which file, and how many repeats."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from collector.errors import BenchmarkInvalid

__all__ = ["Benchmark", "FileFormat"]

FileFormat: TypeAlias = Literal["tsv", "jsonl"]
_FORMATS = ("tsv", "jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What to benchmark into which file.

    Raises:
        BenchmarkInvalid: the file's name ends in neither format, or there are no repeats.
    """

    file: Path
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.file.suffix.removeprefix(".").lower() not in _FORMATS:
            raise BenchmarkInvalid(
                f"{self.file}: a benchmark file ends in .tsv or .jsonl, which decides its format"
            )
        if self.repeats < 1:
            raise BenchmarkInvalid(f"--repeats {self.repeats}: at least 1")

    @property
    def format(self) -> FileFormat:
        """The format that the file's suffix names."""
        return cast(FileFormat, self.file.suffix.removeprefix(".").lower())
