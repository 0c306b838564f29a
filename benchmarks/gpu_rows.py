"""What the checks on a real GPU write down: JSON lines, and the table made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from report import Table

__all__ = ["Check", "Fact", "Failure", "as_table", "facts_as_text", "missed", "read", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A figure of ours beside the truth; within says how far it may be off (None: only shown)."""

    stage: str
    figure: str
    unit: str
    truth: float
    ours: float | None
    within: float | None
    smi: float | None = None  # the same by a poll of nvidia-smi

    @property
    def ok(self) -> bool:
        """Tell whether the demand is met: what is absent does not meet it."""
        if self.within is None:
            return True
        return self.ours is not None and abs(self.ours - self.truth) <= self.within


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that the driver does, for the record; never judged."""

    stage: str
    fact: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A stage, or a part of it, that came to nothing."""

    stage: str
    failed: str


Row = Check | Fact | Failure


def write(file: Path, rows: Iterable[Row]) -> None:
    """Append the rows: what was found stays, whatever happens to the stage later."""
    with file.open("a") as out:
        for row in rows:
            verdict = {"ok": row.ok} if isinstance(row, Check) else {}
            out.write(json.dumps(asdict(row) | verdict) + "\n")


def read(file: Path) -> list[dict[str, Any]]:
    """Read the rows."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def missed(rows: Iterable[Mapping[str, Any]]) -> int:
    """Count the checks that missed and the stages that failed."""
    return sum("failed" in row or row.get("ok") is False for row in rows)


def number(value: float | None, unit: str = "") -> str:
    """Lay a number out; what is absent is a dash."""
    return "-" if value is None else f"{value:.4g} {unit}".rstrip()


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Lay a row out."""
    if "failed" in row:
        return row["stage"], "", "", "", "", "", f"FAILED: {row['failed']}"
    unit = row["unit"]
    shown = row["within"] is None
    demand = "-" if shown else f"within {number(row['within'], unit)}"
    values = (number(row[key], unit) for key in ("truth", "ours", "smi"))
    return (row["stage"], row["figure"], *values, demand, "" if row["ok"] else "MISSED")


def as_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Make the table of the checks and failures."""
    head = ("figure", "truth", "gpu-probe", "nvidia-smi", "demanded", "")
    judged = tuple(cells(row) for row in rows if "fact" not in row)
    return Table(title="stage", head=head, rows=judged)


def facts_as_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """List the facts, one a line."""
    facts = [row for row in rows if "fact" in row]
    return "\n".join(f"{row['fact']}: {json.dumps(row['value'])}" for row in facts)
