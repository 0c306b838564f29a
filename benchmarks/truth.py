"""Hold what gpu-probe says against loads whose use of CPU, memory, I/O and switches is known.

The loads are those of workloads/truth.c. The exit status is 1 if a figure misses what is demanded
of it; figures that no kernel interface can give exactly are shown, not judged.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import Table, as_markdown, as_text, machine
from truth_loads import BELOW, COUNTERS, LOADS, Finding, Load, Outcome

BUILD = Path(__file__).resolve().parent.parent / "build/dev"
BEGIN, END = "<!-- truth: begin -->", "<!-- truth: end -->"
OWN = ("--cgroup", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The programs, and a directory for what runs leave behind."""

    gpu_probe: Path
    truth: Path
    directory: Path

    def wrapped(self, words: Sequence[str], options: Sequence[str]) -> list[str]:
        """Give the words with the wrapper before them."""
        return [str(self.gpu_probe), "--workdir", str(self.directory), *options, "--", *words]

    def trace(self) -> dict[str, Any]:
        """Read the trace of the last run."""
        text = (self.directory / ".fusion/trace.json").read_bytes()
        trace: dict[str, Any] = json.loads(text)
        return trace


def own_io(path: str) -> tuple[dict[str, int], int]:
    """Read an io file: its figures, and its length."""
    fd = os.open(path, os.O_RDONLY)
    text = os.read(fd, 4096)
    os.close(fd)
    lines = (line.split(": ") for line in text.decode().splitlines())
    return {key: int(value) for key, value in lines}, len(text)


def folded_io() -> dict[str, int]:
    """Give the bytes and calls of all children that were waited for.

    They are in this process's file, beside those of its only thread, which has a file too. That one
    is read first: the process's figures have this reading, its own do not.
    """
    thread, length = own_io("/proc/thread-self/io")
    process, _ = own_io("/proc/self/io")
    thread["rchar"] += length
    thread["syscr"] += 1
    return {key: process[key] - thread[key] for key in COUNTERS}


def run(argv: Sequence[str], directory: Path) -> tuple[str, dict[str, int]]:
    """Run to the end; give what it printed, and the bytes and calls of it and its children."""
    output = directory / "stdout"
    before = folded_io()
    to_file = [(os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    pid = os.posix_spawn(argv[0], list(argv), os.environ, file_actions=to_file)
    _, status = os.waitpid(pid, 0)
    after = folded_io()
    if status != 0:
        raise SystemExit(f"truth: {' '.join(argv)} failed, status {status}")
    return output.read_text(), {key: after[key] - before[key] for key in COUNTERS}


def end_daemon(truth: Mapping[str, int]) -> None:
    """End the daemon, if one has stayed."""
    if truth["daemon_pid"] > 0:
        with suppress(ProcessLookupError):
            os.kill(truth["daemon_pid"], signal.SIGKILL)


def measure(place: Place, load: Load, options: Sequence[str]) -> Outcome:
    """Run the load bare and wrapped."""
    argv = [str(place.truth), *load.words]
    text, bare = run(argv, place.directory)
    end_daemon(json.loads(text))
    text, _ = run(place.wrapped(argv, options), place.directory)
    truth = json.loads(text)
    end_daemon(truth)
    return Outcome(truth=truth, trace=place.trace(), bare=bare)


def compare_load(place: Place, load: Load, options: Sequence[str]) -> list[Finding]:
    """Run the load, and again if it misses and may; give what the last run shows."""
    select = load.own if options else load.default
    findings: list[Finding] = []
    for _ in range(load.tries):
        findings = select(measure(place, load, options))
        if not any(finding.missed for finding in findings):
            break
    return findings


def under_a_launcher(place: Place) -> list[Finding]:
    """Run `true` as the child of a process of 500 MB: what wait4 says of it is the launcher's."""
    true = shutil.which("true") or "/bin/true"
    launcher = [str(place.truth), "launcher", "500"]
    run([*launcher, *place.wrapped([true], ())], place.directory)
    outcome = Outcome(truth={}, trace=place.trace(), bare={})
    return [outcome.peak(4, BELOW)]


def own_is_permitted(place: Place) -> bool:
    """Find out whether the wrapper can make a control group here."""
    run(place.wrapped(["/bin/true"], OWN), place.directory)
    return bool(place.trace()["probe"]["scope"].get("cgroup") == "own")


def difference(finding: Finding) -> str:
    """Tell by how much the figure is off."""
    if finding.demand is BELOW:
        return "-"
    off = finding.ours - finding.truth
    return f"{100 * off / finding.truth:+.2f} %" if finding.unit else f"{off:+.0f}"


def row(title: str, mode: str, finding: Finding) -> tuple[str, ...]:
    """Lay a finding out."""
    digits, unit = (1, f" {finding.unit}") if finding.unit else (0, "")
    truth, ours = (f"{value:.{digits}f}{unit}" for value in (finding.truth, finding.ours))
    demand = finding.demand.words + (" - MISSED" if finding.missed else "")
    if finding.demand is BELOW:
        demand, truth = demand.replace("below", f"below {truth}"), "-"
    return title, mode, finding.figure, truth, ours, difference(finding), demand


def compare(place: Place, own: bool) -> tuple[Table, int]:
    """Run everything; give the table, and how many figures missed."""
    rows: list[tuple[str, ...]] = []
    missed = 0

    def add(title: str, mode: str, findings: Sequence[Finding]) -> None:
        nonlocal missed
        missed += sum(finding.missed for finding in findings)
        rows.extend(row(title, mode, finding) for finding in findings)

    for load in LOADS:
        add(load.title, "default", compare_load(place, load, ()))
        if own:
            add(load.title, "`own`", compare_load(place, load, OWN))
    add("`true` under a launcher of 500 MiB", "default", under_a_launcher(place))
    head = ("`--cgroup`", "figure", "truth", "gpu-probe", "off by", "demanded")
    return Table(title="load", head=head, rows=tuple(rows)), missed


def rewrite(page: Path, text: str) -> None:
    """Replace what stands between the two markers of the page."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"truth: {page} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> int:
    """Measure, print the table, and write it down if that is asked for."""
    parser = argparse.ArgumentParser(description="Hold gpu-probe against loads of known truth.")
    for name, default, words in (
        ("--gpu-probe", BUILD / "gpu-probe", "the wrapper (default: that of build/dev)"),
        ("--truth", BUILD / "truth", "the loads (default: that of build/dev)"),
        ("--markdown", None, "also write the table between the markers of this page"),
    ):
        parser.add_argument(name, type=Path, default=default, metavar="FILE", help=words)
    arguments = parser.parse_args()
    for program in (arguments.gpu_probe, arguments.truth):
        if not os.access(program, os.X_OK):
            raise SystemExit(f"truth: no executable {program}; build it with: make mock")
    page = arguments.markdown and arguments.markdown.resolve()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(
            gpu_probe=arguments.gpu_probe.resolve(),
            truth=arguments.truth.resolve(),
            directory=Path(directory),
        )
        os.chdir(directory)
        own = own_is_permitted(place)
        table, missed = compare(place, own)
        os.chdir("/")
    lacking = "" if own else "\n\nmissing: `--cgroup own` is not permitted here"
    print(f"{machine(place.gpu_probe)}\n\n{as_text(table)}{lacking}\n\n{missed} missed")
    if page is not None:
        rewrite(page, f"Machine: {machine(place.gpu_probe)}.\n\n{as_markdown(table)}{lacking}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
