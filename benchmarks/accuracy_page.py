"""Lay out what the readers of GPUs said: a table for each figure, and the page of results."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path

from accuracy_cases import Case
from accuracy_rows import Row
from report import Table, as_markdown

__all__ = ["tables_of", "write_page"]

HERE = Path(__file__).resolve().parent
TITLES = {
    "pct": "mean utilization, %; errors in percentage points",
    "peak": "largest sample of the driver, %; errors in percentage points",
    "active_time": "time with a utilization above 0, ms; errors in ms",
    "avg_mem_bw_util": "mean of the memory controller, %; errors in percentage points",
    "peak_mem_bw_util": "largest sample of the memory controller, %; errors in percentage points",
    "avg_mem": "mean memory, MiB; errors in MiB",
    "pct_mem": "mean memory, % of the total; errors in percentage points",
    "peak_mem_used": "largest memory, MiB; errors in MiB",
    "peak_mem": "largest memory, % of the total; errors in percentage points",
    "energy_mj": "energy, mJ; errors in mJ",
}


def figure(value: float) -> str:
    """Write a true figure."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 1000 else f"{value:.0f}"


def error(value: float | None, truth: float) -> str:
    """Write by how much a reader is off."""
    if value is None:
        return "-"
    off = value - truth
    small = abs(off) < 0.005
    return "0" if small else f"{off:+.2f}" if abs(off) < 100 else f"{off:+.0f}"


def name_of(row: Row) -> str:
    """Name a row: the scenario, and the device where it is one of several."""
    device, dot, _ = row.metric.rpartition(".")
    return f"{row.scenario}, {device}" if dot else row.scenario


def laid_out(row: Row) -> tuple[str, ...]:
    """Lay a row out: the truth, and the errors."""
    demand = row.demand + (" - MISSED" if row.missed else "")
    errors = (error(value, row.truth) for value in row.peers.values())
    return name_of(row), figure(row.truth), error(row.ours, row.truth), demand, *errors


def without_empty_columns(head: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> Table:
    """Leave out readers that never give the figure."""
    kept = [i for i, _ in enumerate(head) if i < 4 or any(cells[i] != "-" for cells in rows)]
    return Table(
        title=title,
        head=tuple(head[i] for i in kept[1:]),
        rows=tuple(tuple(cells[i] for i in kept) for cells in rows),
    )


def tables_of(rows: Sequence[Row]) -> list[Table]:
    """Give one table for each figure."""
    tables = []
    for metric, title in TITLES.items():
        of_metric = [row for row in rows if row.metric.rpartition(".")[2] == metric]
        if of_metric:
            head = ("", "truth", "gpu-probe", "demanded", *of_metric[0].peers)
            cells = [laid_out(row) for row in of_metric]
            tables.append(without_empty_columns(head, cells, title))
    return tables


def write_page(file: Path, cases: Sequence[Case], rows: Sequence[Row], machine: str) -> None:
    """Fill the page of results in."""
    page = string.Template((HERE / "ACCURACY.md.in").read_text())
    silent = [
        name
        for name in (rows[0].peers if rows else ())
        if all(row.peers[name] is None for row in rows)
    ]
    text = page.substitute(
        machine=machine,
        cases="\n".join(f"| `{case.name}` | {case.seconds:g} s | {case.what} |" for case in cases),
        tables="\n\n".join(
            f"### {table.title[0].upper()}{table.title[1:]}\n\n"
            + as_markdown(Table(title="scenario", head=table.head, rows=table.rows))
            for table in tables_of(rows)
        ),
        silent=f"\n\nNot there, or without an answer: {', '.join(silent)}." if silent else "",
        figures=len(rows),
        missed=sum(row.missed for row in rows),
    )
    file.write_text(text)
