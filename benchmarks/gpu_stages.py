"""The checks on a real GPU that gpu_truth.sh runs, each a stage: a load, its truth, and our trace.

A stage writes its rows as JSON lines and ends with status 0 whether or not its checks are met; it
ends with 3 when it came to nothing, which a row says too.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpu_rows import Check, Failure, Row, write
from gpu_runs import LoadFailed, Run, bare, polling, wrapped
from workloads.pair import PairFailed, Task, expected, run_pair

__all__ = ["STAGES", "Place", "duty_rows", "ramp_rows"]

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build/dev"
DUTIES = (0, 10, 30, 60, 100)
PERIOD_MS = 1000
MEAN_WITHIN_POINTS = 2.0  # what whole percents and a period of the driver at each end may cost
MEMORY_WITHIN_MIB = 16.0
SLOWER_WITHIN_PERCENT = 2.0
LEAST_STEP_MS = 2.0  # shorter steps say more about the host than about the wrapper
MOST_SAMPLES = 1 << 19
SAID = 3  # exit status: the stage came to nothing, and its rows say why
COVERED = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The programs, and how long each load is."""

    gpu_probe: Path
    build: Path
    seconds: float

    def program(self, name: str) -> str:
        """Give the path of a built load."""
        return str(self.build / name)


def options(**values: int) -> list[str]:
    """Make options of numbers."""
    named = ((name.replace("_", "-"), value) for name, value in values.items())
    return [word for name, value in named for word in (f"--{name}", str(value))]


def memory_check(stage: str, run: Run, used_mib: float, smi: float | None) -> Check:
    """Show the peak of memory beside what CUDA told the load itself.

    It is not judged: how much of the memory that the driver keeps for itself CUDA counts as in use
    is the driver's business, and another in NVML.
    """
    return Check(
        stage=stage,
        figure="peak_mem_used",
        unit="MiB",
        truth=used_mib,
        ours=run.device().get("peak_mem_used"),
        within=None,
        smi=smi,
    )


def duty_rows(place: Place, percent: int) -> Iterator[Row]:
    """Hold the mean and the coverage of a duty cycle against its truth; show memory beside it.

    The truth of the mean is of the whole task: the time of the kernels, by the device's own events,
    over the time from the start of the program to its end.
    """
    stage = f"duty-{percent}"
    busy_ms = PERIOD_MS * percent // 100
    cycles = max(1, round(place.seconds * 1000 / PERIOD_MS))
    turns = options(busy_ms=busy_ms, idle_ms=PERIOD_MS - busy_ms, cycles=cycles, vram_mib=128)
    with polling() as poll:
        run = wrapped(place.gpu_probe, [place.program("duty"), "--device", "gpu", *turns])
    device = run.device()
    yield Check(
        stage=stage,
        figure="pct",
        unit="%",
        truth=100 * run.truth["kernel_s"] / run.realtime_s,
        ours=device.get("pct"),
        within=MEAN_WITHIN_POINTS,
        smi=poll.mean_util(),
    )
    yield Check(
        stage=stage,
        figure="coverage",
        unit="",
        truth=1,
        ours=device.get("coverage"),
        within=1 - COVERED,
    )
    yield memory_check(stage, run, run.truth["device_used_mib"], poll.peak_used())
    ratio = run.truth["spin_ratio"]
    yield Check(stage=stage, figure="kernel time", unit="", truth=1, ours=ratio, within=None)


def plateau(run: Run, at_ms: float) -> float | None:
    """Give what the timeline has for memory at that moment (ms since 1970), in MiB.

    A reading stands for the time since the one before, which is up to a second: a moment in the
    first half of two seconds or more is that of a reading in the same time.
    """
    if not run.timeline:
        return None
    values = run.device("timeline").get("gpu_mem_mib", {}).get("mean", [])
    bucket = int((at_ms - run.timeline["start_ms"]) // run.timeline["bucket_ms"])
    return float(values[bucket]) if bucket < len(values) and values[bucket] is not None else None


def ramp_rows(place: Place, step_mib: int = 128, steps: int = 4) -> Iterator[Row]:
    """Hold each step of a ramp in the timeline, and the peak, against the allocations."""
    hold_ms = max(2000, round(place.seconds * 1000 / (steps + 1)))
    words = options(step_mib=step_mib, steps=steps, hold_ms=hold_ms)
    with polling(200) as poll:
        run = wrapped(place.gpu_probe, [place.program("vram_ramp"), *words])
    known = run.truth["steps"]
    shown = [plateau(run, (3 * step["start_ms"] + step["end_ms"]) / 4) for step in known]
    shown.append(run.device().get("peak_mem_used"))
    named = [f"timeline, step {i}" for i in range(len(known))]
    yield memory_check("ramp", run, known[-1]["device_used_mib"], poll.peak_used())
    truths = [*(step["vram_mib"] for step in known), run.truth["vram_mib"]]
    base = shown[0]
    for figure, truth, ours in zip([*named, "peak_mem_used"], truths, shown, strict=True):
        yield Check(
            stage="ramp",
            figure=f"{figure}, above step 0",
            unit="MiB",
            truth=truth,
            ours=None if ours is None or base is None else ours - base,
            within=MEMORY_WITHIN_MIB,
        )


def pair_rows(place: Place) -> Iterator[Row]:
    """Hold the figures of two tasks on one device against what both did."""
    pair = run_pair(
        place.gpu_probe, Path(place.program("duty")), seconds=place.seconds, mib=(128, 64)
    )
    for name, (task, other) in zip("ab", (pair, pair[::-1]), strict=True):
        yield from task_rows(f"pair-{name}", task, other)


def task_rows(stage: str, task: Task, other: Task) -> Iterator[Row]:
    """Hold one of two tasks against what both did."""
    truth = expected(task, other)
    device = Run(truth=task.truth, trace=task.trace, timeline={}).device()
    yield Check(
        stage=stage,
        figure="pct",
        unit="%",
        truth=truth["device_pct"],
        ours=device.get("pct"),
        within=MEAN_WITHIN_POINTS,
    )
    least = float(truth["device_peak_mib_at_least"])
    peak = device.get("peak_mem_used")
    yield Check(
        stage=stage,
        figure="peak_mem_used, at least",
        unit="MiB",
        truth=least,
        ours=None if peak is None else min(float(peak), least),
        within=0,
    )


def train_rows(place: Place) -> Iterator[Row]:
    """Compare the time of a training step with and without the wrapper, in turns."""
    train = [place.program("train"), "--device", "gpu", *options(features=32, hidden=32, outputs=8)]
    samples, step_ms = 64, 0.0
    while step_ms < LEAST_STEP_MS and samples < MOST_SAMPLES:
        samples *= 2
        step_ms = bare([*train, *options(steps=10, samples=samples)])["step_ms_median"]
    steps = max(10, round(place.seconds * 500 / step_ms))
    yield from step_rows("train", place, [*train, *options(steps=steps, samples=samples)], 4)
    if importlib.util.find_spec("torch") is not None:
        script = str(HERE / "workloads/train.py")
        chosen = ["--framework", "torch", "--device", "gpu", *options(steps=200, samples=4096)]
        yield from step_rows("train-torch", place, [sys.executable, script, *chosen], 2)


def step_rows(stage: str, place: Place, words: list[str], rounds: int) -> Iterator[Row]:
    """Take the best of several medians on each side: what disturbs only ever slows down."""
    alone: list[float] = []
    with_us: list[float] = []
    for turn in range(rounds):
        for side in (alone, with_us) if turn % 2 == 0 else (with_us, alone):
            truth = bare(words) if side is alone else wrapped(place.gpu_probe, words).truth
            side.append(truth["step_ms_median"])
    bare_ms, wrapped_ms = min(alone), min(with_us)
    yield Check(
        stage=stage,
        figure="step time, bare and wrapped",
        unit="ms",
        truth=bare_ms,
        ours=wrapped_ms,
        within=None,
    )
    yield Check(
        stage=stage,
        figure="step slower by",
        unit="%",
        truth=0,
        ours=max(0.0, 100 * (wrapped_ms / bare_ms - 1)),
        within=SLOWER_WITHIN_PERCENT,
    )


STAGES: dict[str, Callable[[Place], Iterator[Row]]] = {
    **{f"duty-{d}": lambda place, d=d: duty_rows(place, d) for d in DUTIES},  # type: ignore[misc]
    "ramp": ramp_rows,
    "pair": pair_rows,
    "train": train_rows,
}


def main() -> int:
    """Run one stage."""
    parser = argparse.ArgumentParser(description="Run one stage of the checks on a real GPU.")
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines")
    parser.add_argument("--gpu-probe", type=Path, default=BUILD / "gpu-probe")
    parser.add_argument("--build", type=Path, default=BUILD, help="where the built loads are")
    parser.add_argument("--seconds", type=float, default=12, help="length of a load (12)")
    arguments = parser.parse_args()
    place = Place(gpu_probe=arguments.gpu_probe, build=arguments.build, seconds=arguments.seconds)
    try:
        for row in STAGES[arguments.stage](place):
            write(arguments.out, [row])
    except (LoadFailed, PairFailed, OSError, KeyError, ValueError) as problem:
        words = f"{type(problem).__name__}: {problem}"
        write(arguments.out, [Failure(stage=arguments.stage, failed=words)])
        return SAID
    return 0


if __name__ == "__main__":
    sys.exit(main())
