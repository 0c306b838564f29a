"""Measure what wrapping a command costs: gpu-probe beside a bare run, tini, GNU time and con-duct.

Every subject runs once a round, in an order shuffled anew, so that a disturbance of the machine
hits all of them alike. Nothing but the standard library is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from report import Table, as_text, machine, sampler_cost, write_page

HERE = Path(__file__).resolve().parent
GPU_PROBE = HERE.parent / "build/dev/gpu-probe"
GLIBC = HERE.parent / "build/glibc/gpu-probe"
SAMPLER_COST = HERE.parent / "build/dev/sampler_cost"
MOCK = HERE.parent / "build/dev/mock_nvml/libnvidia-ml.so.1"
BARE, TINI = "bare", "tini -s"
SEED, WARMUP, SLEEP_S = 1, 20, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What stands before the command. It takes part in every round, or every 20th, ..."""

    name: str
    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: wall time and CPU time of the subject and all that it waited for, ms."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The subject's own processes, without the command: their number, peak RSS and PSS, KiB."""

    processes: int
    peak_rss_kib: int
    pss_kib: int


def run_once(
    subject: Subject, command: Sequence[str], watch: Callable[[int], None] | None = None
) -> Run:
    """Run the command under the subject, as any task runs: in a directory of its own.

    What it prints is discarded; watch is given its pid. SystemExit is raised if it fails.
    """
    below = Path.cwd()
    os.chdir(tempfile.mkdtemp(dir=below))
    argv = [*subject.prefix, *command]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **subject.environment}
    discard = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    start = time.monotonic_ns()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=discard)
    if watch is not None:
        watch(pid)
    _, status, usage = os.wait4(pid, 0)
    wall_ns = time.monotonic_ns() - start
    os.chdir(below)
    if status != 0:
        raise SystemExit(f"wrap_cost: {subject.name}: {' '.join(argv)} failed, status {status}")
    return Run(wall_ms=wall_ns / 1e6, cpu_ms=(usage.ru_utime + usage.ru_stime) * 1e3)


def interleave(
    subjects: Sequence[Subject], command: Sequence[str], rounds: int, warmup: int = 0
) -> list[dict[str, Run]]:
    """Run every subject once a round, in random order; the rounds of the warm-up are left out."""
    shuffler = random.Random(SEED)
    results = []
    for number in range(-warmup, rounds):
        due = [subject for subject in subjects if number % subject.every == 0]
        shuffler.shuffle(due)
        result = {subject.name: run_once(subject, command) for subject in due}
        if number >= 0:
            results.append(result)
    return results


def tree_of(pid: int) -> list[int]:
    """Give the pid and its descendants; one that is ending meanwhile is left out."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += tree_of(int(child))
    return found


def kib(path: Path, key: str) -> int:
    """Read the value of a "Key:  N kB" line."""
    lines = path.read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key}:")), 0)


def memory_of(pid: int, command: Sequence[str]) -> Memory:
    """Measure the tree without the processes that run the command itself."""
    monitors = []
    for member in tree_of(pid):
        argv = Path(f"/proc/{member}/cmdline").read_bytes().split(b"\0")[:-1]
        if argv != [os.fsencode(word) for word in command]:
            monitors.append(Path(f"/proc/{member}"))
    return Memory(
        processes=len(monitors),
        # VmHWM may be off by some hundred KiB, smaps_rollup is exact but of this moment
        peak_rss_kib=sum(
            max(kib(monitor / "status", "VmHWM"), kib(monitor / "smaps_rollup", "Rss"))
            for monitor in monitors
        ),
        pss_kib=sum(kib(monitor / "smaps_rollup", "Pss") for monitor in monitors),
    )


def measure_memory(subject: Subject, sleep: str) -> Memory:
    """Measure the subject's memory in the middle of a sleep of two seconds."""
    command, taken = [sleep, "2"], list[Memory]()

    def watch(pid: int) -> None:
        time.sleep(1)
        taken.append(memory_of(pid, command))

    run_once(subject, command, watch)
    return taken[0]


def find_subjects(gpu_probe: Path, mock: Path) -> tuple[list[Subject], list[str]]:
    """Give the subjects that can be had here, and the names of the others with the reason."""
    subjects, missing = [Subject(name=BARE)], []

    def add(name: str, program: str, *arguments: str, every: int = 1) -> None:
        path = shutil.which(program)
        if path is None:
            missing.append(f"{name}: no {program} on PATH")
        else:
            subjects.append(Subject(name=name, prefix=(path, *arguments), every=every))

    add(TINI, "tini", "-s", "--")
    add("GNU time -v", "time", "-v", "-o", os.devnull, "--")
    has_gpu = Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()
    name = "gpu-probe, NVIDIA driver" if has_gpu else "gpu-probe, no GPU"
    subjects.append(Subject(name=name, prefix=(str(gpu_probe), "--")))
    if gpu_probe != GLIBC and GLIBC.exists():
        subjects.append(Subject(name=f"{name}, cc -static", prefix=(str(GLIBC), "--")))
    else:
        missing.append("gpu-probe, cc -static: it is not built (make benchmark)")
    if mock.exists():
        mocked = {"GPU_PROBE_NVML_LIBRARY": str(mock)}
        subjects.append(
            Subject(
                name="gpu-probe, mock driver", prefix=(str(gpu_probe), "--"), environment=mocked
            )
        )
    else:
        missing.append("gpu-probe, mock driver: the library is not built (make mock)")
    add("con-duct", "duct", every=20)
    return subjects, missing


def quartiles(values: Sequence[float]) -> str:
    """Format median and quartiles."""
    if len(values) < 2:
        return f"{values[0]:.2f}" if values else "-"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def table_of_true(subjects: Sequence[Subject], rounds: Sequence[Mapping[str, Run]]) -> Table:
    """Tabulate the runs of `true`; differences and ratios are taken within each round."""
    rows = []
    for name in (subject.name for subject in subjects):
        mine = [result for result in rounds if name in result]
        added = [result[name].wall_ms - result[BARE].wall_ms for result in mine]
        pairs = [
            own / (result[TINI].wall_ms - result[BARE].wall_ms)
            for own, result in zip(added, mine, strict=True)
            if TINI in result and result[TINI].wall_ms > result[BARE].wall_ms
        ]
        rows.append(
            (
                name,
                quartiles([result[name].wall_ms for result in mine]),
                "-" if name == BARE else quartiles(added),
                "-" if name in {BARE, TINI} else quartiles(pairs),
                f"{statistics.median(result[name].cpu_ms for result in mine):.2f}",
                str(len(mine)),
            )
        )
    head = ("wall ms", "added ms", "added / tini's", "CPU ms", "runs")
    return Table(title="true", head=head, rows=tuple(rows))


def table_of_sleep(
    subjects: Sequence[Subject], rounds: Sequence[Mapping[str, Run]], sleep: str
) -> Table:
    """Tabulate the runs of `sleep`: CPU time, and memory from one more run each."""
    bare = statistics.median(result[BARE].cpu_ms for result in rounds)
    rows = []
    for subject in subjects:
        cpu = [result[subject.name].cpu_ms for result in rounds]
        own = statistics.median(cpu) - bare
        cells = ("-",) * 5
        if subject.name != BARE:
            memory = measure_memory(subject, sleep)
            cells = (
                f"{own:.2f}",
                f"{own / SLEEP_S / 10:.3f}",
                f"{memory.peak_rss_kib / 1024:.1f}",
                f"{memory.pss_kib / 1024:.1f}",
                str(memory.processes),
            )
        rows.append((subject.name, quartiles(cpu), *cells))
    head = ("CPU ms", "own CPU ms", "% of a core", "peak RSS MiB", "PSS MiB", "processes")
    return Table(title=f"sleep {SLEEP_S}", head=head, rows=tuple(rows))


def measure(subjects: Sequence[Subject], rounds: int, sleep_rounds: int) -> tuple[Table, Table]:
    """Run everything below a temporary directory; the current directory is / afterwards."""
    true, sleep = (shutil.which(name) or f"/bin/{name}" for name in ("true", "sleep"))
    always = [replace(subject, every=1) for subject in subjects]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        short = interleave(subjects, [true], rounds, WARMUP)
        long = interleave(always, [sleep, str(SLEEP_S)], sleep_rounds)
        tables = table_of_true(subjects, short), table_of_sleep(subjects, long, sleep)
        os.chdir("/")
    return tables


def as_path(text: str) -> Path:
    """Make the path independent of the current directory."""
    return Path(text).resolve()


def main() -> None:
    """Measure, print the tables, and write them down if that is asked for."""
    parser = argparse.ArgumentParser(description="What wrapping a command costs.")
    parser.add_argument("--rounds", type=int, default=400, help="of `true` (default: 400)")
    parser.add_argument("--sleep-rounds", type=int, default=5, help="of `sleep 5` (default: 5)")
    for name, default, words in (
        ("--gpu-probe", GPU_PROBE, "the wrapper (default: that of build/dev)"),
        ("--mock", MOCK, "the mock driver (default: that of build/dev)"),
        ("--markdown", None, "also write the report to this file"),
    ):
        parser.add_argument(name, type=as_path, default=default, metavar="FILE", help=words)
    arguments = parser.parse_args()
    gpu_probe: Path = arguments.gpu_probe
    if not os.access(gpu_probe, os.X_OK):
        raise SystemExit(f"wrap_cost: no executable {gpu_probe}; build it with: make mock")
    subjects, missing = find_subjects(gpu_probe, arguments.mock)
    tables = measure(subjects, arguments.rounds, arguments.sleep_rounds)
    lacking = [f"missing: {reason}" for reason in missing]
    print("\n\n".join([machine(gpu_probe), *map(as_text, tables), *lacking]))
    if arguments.markdown is not None:
        missed = "".join(f"- {line}\n" for line in lacking) or "No peer was missing.\n"
        samples = sampler_cost(SAMPLER_COST)
        write_page(
            arguments.markdown, gpu_probe=gpu_probe, tables=tables, lacking=missed, samples=samples
        )


if __name__ == "__main__":
    main()
