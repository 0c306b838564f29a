"""Lay out what the benchmarks measure: the machine, tables, the page of results."""

from __future__ import annotations

import os
import platform
import string
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Table", "as_markdown", "as_text", "machine", "sampler_cost", "write_page"]

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Finished cells; the title stands above the column that names the rows."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def linkage(elf: bytes) -> str:
    """Tell how a 64-bit little-endian executable is linked, and with which libc."""
    (table,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    interpreter = any(struct.unpack_from("<I", elf, table + i * size)[0] == 3 for i in range(count))
    # What strerror(0) says differs, and both libraries link their messages in.
    musl = b"/ld-musl" in elf if interpreter else b"No error information" in elf
    return f"{'musl' if musl else 'glibc'}, {'dynamic' if interpreter else 'static'}"


def machine(gpu_probe: Path) -> str:
    """Describe what the figures depend on, without anything that identifies the host."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(": ")[2] for line in info if line.startswith("model name")), "CPU")
    kernel = f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}"
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    here = [m for m in mounts if Path(tempfile.gettempdir()).resolve().is_relative_to(m[1])]
    system = max(here, key=lambda mount: len(mount[1]))[2]
    linked = linkage(gpu_probe.read_bytes())
    return f"{cpu}, {os.cpu_count()} cores, {kernel}, {system}; gpu-probe: {linked}"


def as_text(table: Table) -> str:
    """Lay the table out for a terminal."""
    cells = [(table.title, *table.head), *table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def as_markdown(table: Table) -> str:
    """Lay the table out in Markdown."""
    rows = [(f"`{table.title}`", *table.head), ("---", *("---:" for _ in table.head)), *table.rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def sampler_cost(program: Path) -> str:
    """Run sampler_cost, which prints a Markdown table."""
    if not os.access(program, os.X_OK):
        return f"missing: {program.name} is not built (make mock)\n"
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def write_page(
    file: Path, *, gpu_probe: Path, tables: Sequence[Table], lacking: str, samples: str
) -> None:
    """Fill the page of results in."""
    page = string.Template((HERE / "RESULTS.md.in").read_text())
    true, sleep = map(as_markdown, tables)
    text = page.substitute(
        machine=machine(gpu_probe), true=true, sleep=sleep, missing=lacking, samples=samples
    )
    file.write_text(text)
