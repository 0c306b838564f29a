"""Hold gpu-probe and other readers of GPUs against scenarios whose truth is known.

Real executables read a mock driver (native/mock_nvml) at the same time; an oracle of its own
(oracle/) computes what the scenario truly holds. The exit status is 1 if one of gpu-probe's figures
misses what is demanded of it. A scenario that misses is run once more: a machine that is busy with
other things may stop any reader for a while.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from accuracy_cases import CASES, QUICK, Case
from accuracy_long import LONG, measure_long
from accuracy_page import tables_of, write_page
from accuracy_rows import Row, rows_of
from accuracy_run import Place, run_case
from report import as_text, machine

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/dev"
TRIES = 2


def measure(place: Place, case: Case) -> list[Row]:
    """Run a scenario, and again if something misses; give what the last run shows."""
    rows: list[Row] = []
    for _ in range(TRIES):
        rows = rows_of(case, run_case(place, case))
        missed = [row for row in rows if row.missed]
        for row in missed:
            print(f"{case.name}: {row.metric} is {row.truth:.6g}, not {row.ours}", file=sys.stderr)
        if not missed:
            break
    return rows


def chosen(names: Sequence[str], quick: bool) -> list[Case]:
    """Give the scenarios that are asked for."""
    wanted = [*names, *(QUICK if quick else ())]
    known = {case.name: case for case in CASES}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"accuracy: no scenario {unknown[0]}; there are {', '.join(known)}")
    return [case for case in CASES if not wanted or case.name in wanted]


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Hold gpu-probe and others against known truth.")
    files = (
        ("--gpu-probe", BUILD / "gpu-probe", "the wrapper (default: that of build/dev)"),
        ("--mock", BUILD / "mock_nvml/libnvidia-ml.so.1", "the mock driver"),
        ("--replay", BUILD / "gpu-replay", "the session in virtual time"),
        ("--peers", ROOT / "build/peers/bin/python", "Python with the other readers"),
        ("--json", ROOT / "accuracy.json", "where all figures go"),
        ("--markdown", None, "also write the page of results here"),
    )
    for name, default, words in files:
        parser.add_argument(name, type=Path, default=default, metavar="FILE", help=words)
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="this only")
    parser.add_argument("--quick", action="store_true", help=f"these only: {', '.join(QUICK)}")
    return parser.parse_args()


def write_json(file: Path, rows: Iterable[Row]) -> None:
    """Write a list of rows."""
    file.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def main() -> int:
    """Measure, print the tables, and write them down."""
    arguments = read_arguments()
    cases = chosen(arguments.scenario, arguments.quick)
    for program in (arguments.gpu_probe, arguments.mock, arguments.replay):
        if not os.access(program, os.X_OK):
            raise SystemExit(f"accuracy: no {program}; build it with: make mock")
    rows: list[Row] = []
    for case in cases:
        with tempfile.TemporaryDirectory() as directory:
            place = Place(
                gpu_probe=arguments.gpu_probe.resolve(),
                library=arguments.mock.resolve(),
                python=arguments.peers.absolute(),
                directory=Path(directory),
            )
            rows += measure(place, case)
        write_json(arguments.json, rows)
    if not arguments.scenario:
        with tempfile.TemporaryDirectory() as directory:
            library = arguments.mock.resolve()
            rows.append(measure_long(arguments.replay, library, Path(directory)))
        write_json(arguments.json, rows)
    for table in tables_of(rows):
        print(f"{as_text(table)}\n")
    missed = sum(row.missed for row in rows)
    print(f"{machine(arguments.gpu_probe)}\n\n{len(rows)} figures, {missed} missed")
    if arguments.markdown is not None:
        write_page(arguments.markdown, [*cases, LONG], rows, machine(arguments.gpu_probe))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
