"""Find out how a driver behaves where its documentation is silent, and write it down.

No privileges are needed, and nothing is changed. The only thing that is judged is whether a ring
that is drained every five seconds loses samples. A load keeps the device busy for half of the time.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pynvml as nv

from gpu_rows import Check, Fact, Failure, Row, write
from nvml_facts_rings import drains, ring_facts
from nvml_facts_support import gpm_facts, mig_facts

BUILD = Path(__file__).resolve().parent.parent / "build/dev"
STAGE = "facts"
SAID = 3  # exit status: it came to nothing, and a row says why


def tried(call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - what the call gives
    """Give what a call gives, or the name of its error."""
    try:
        value = call(*arguments)
    except nv.NVMLError as problem:
        return type(problem).__name__
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def device_facts(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell what the device and its driver are."""
    yield "driver", tried(nv.nvmlSystemGetDriverVersion)
    yield "nvml", tried(nv.nvmlSystemGetNVMLVersion)
    yield "devices", tried(nv.nvmlDeviceGetCount)
    yield "name", tried(nv.nvmlDeviceGetName, device)
    yield "persistence_mode", tried(nv.nvmlDeviceGetPersistenceMode, device)
    yield "accounting_mode", tried(nv.nvmlDeviceGetAccountingMode, device)
    yield "compute_mode", tried(nv.nvmlDeviceGetComputeMode, device)


def memory_facts(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell memory in use by both versions of the call, in MiB."""
    for name, version in (("v1", None), ("v2", nv.nvmlMemory_v2)):
        info = tried(nv.nvmlDeviceGetMemoryInfo, device, version)
        if isinstance(info, str):
            yield f"memory_{name}", info
            continue
        keys = [key for key in ("total", "used", "free", "reserved") if hasattr(info, key)]
        yield f"memory_{name}_mib", {key: getattr(info, key) / 2**20 for key in keys}


def process_facts(device: Any, own: int) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Tell what the list of processes has of a process that surely uses the device."""
    processes = tried(nv.nvmlDeviceGetComputeRunningProcesses, device)
    if isinstance(processes, str):
        yield "processes", processes
        return
    yield "processes", len(processes)
    yield "processes_has_own_pid", own in [process.pid for process in processes]
    used = [process.usedGpuMemory for process in processes]
    yield "processes_used_mib", [None if value is None else value / 2**20 for value in used]


def latencies(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell how long calls take through pynvml, in microseconds: median and largest of 100."""
    newest = 0
    with suppress(nv.NVMLError):
        samples = nv.nvmlDeviceGetSamples(device, nv.NVML_GPU_UTILIZATION_SAMPLES, 0)[1]
        newest = max((sample.timeStamp for sample in samples), default=0)
    calls: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "samples": (nv.nvmlDeviceGetSamples, (device, nv.NVML_GPU_UTILIZATION_SAMPLES, newest)),
        "samples_all": (nv.nvmlDeviceGetSamples, (device, nv.NVML_GPU_UTILIZATION_SAMPLES, 0)),
        "rates": (nv.nvmlDeviceGetUtilizationRates, (device,)),
        "memory_v2": (nv.nvmlDeviceGetMemoryInfo, (device, nv.nvmlMemory_v2)),
        "processes": (nv.nvmlDeviceGetComputeRunningProcesses, (device,)),
        "energy": (nv.nvmlDeviceGetTotalEnergyConsumption, (device,)),
        "power": (nv.nvmlDeviceGetPowerUsage, (device,)),
    }
    for name, (call, arguments) in calls.items():
        took = []
        for _ in range(100):
            before = time.perf_counter_ns()
            tried(call, *arguments)
            took.append((time.perf_counter_ns() - before) / 1000)
        yield f"call_us_{name}", {"median": statistics.median(took), "largest": max(took)}


def energy_step(device: Any, seconds: float = 1) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Tell how often the energy counter moves."""
    end = time.monotonic() + seconds
    changes: list[float] = []
    last = tried(nv.nvmlDeviceGetTotalEnergyConsumption, device)
    while time.monotonic() < end and not isinstance(last, str):
        time.sleep(0.005)
        value = tried(nv.nvmlDeviceGetTotalEnergyConsumption, device)
        if value != last:
            changes.append(time.monotonic())
            last = value
    gaps = [1000 * (b - a) for a, b in itertools.pairwise(changes)]
    yield "energy_counter", last if isinstance(last, str) else "present"
    yield "energy_step_ms", statistics.median(gaps) if gaps else None


def facts(device: Any, own: int, seconds: float) -> Iterator[Row]:  # noqa: ANN401
    """Find everything out, under load; a topic that breaks does not end the others."""
    topics: tuple[Callable[[], Iterator[tuple[str, Any]]], ...] = (
        lambda: device_facts(device),
        lambda: memory_facts(device),
        lambda: process_facts(device, own),
        lambda: ring_facts(device),
        lambda: gpm_facts(device),
        lambda: mig_facts(device),
        lambda: latencies(device),
        lambda: energy_step(device),
    )
    for topic in topics:
        try:
            yield from [Fact(stage=STAGE, fact=name, value=value) for name, value in topic()]
        except (nv.NVMLError, ValueError, AttributeError) as problem:
            yield Failure(stage=STAGE, failed=f"{type(problem).__name__}: {problem}")
    seen, lost = drains(device, seconds)
    yield Fact(stage=STAGE, fact="samples_seen_by_frequent_drains", value=seen)
    yield Check(
        stage=STAGE,
        figure="samples lost by drains every 5 s",
        unit="",
        truth=0,
        ours=lost if seen else None,
        within=0,
    )


def idle_facts(device: Any, seconds: float) -> Iterator[Row]:  # noqa: ANN401 - pynvml's handle
    """Tell whether the ring runs dry when nothing runs."""
    for name, value in ring_facts(device):
        yield Fact(stage=STAGE, fact=f"idle_{name}", value=value)
    seen, _ = drains(device, seconds)
    value = {"seconds": seconds, "samples": seen}
    yield Fact(stage=STAGE, fact="idle_samples", value=value)


def main() -> int:
    """Write the facts to the file."""
    parser = argparse.ArgumentParser(description="Write down how this driver behaves.")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines")
    parser.add_argument("--duty", type=Path, default=BUILD / "duty", help="the built load")
    parser.add_argument("--seconds", type=float, default=15, help="watch drains so long (15)")
    arguments = parser.parse_args()
    try:
        nv.nvmlInit()
        device = nv.nvmlDeviceGetHandleByIndex(0)
    except nv.NVMLError as problem:
        write(arguments.out, [Failure(stage=STAGE, failed=f"NVML: {problem}")])
        return SAID
    lead_s = min(3.0, arguments.seconds)
    write(arguments.out, idle_facts(device, lead_s))
    cycles = round((arguments.seconds + 20) / 0.4)
    turns = ["--busy-ms", "200", "--idle-ms", "200", "--cycles", str(cycles), "--vram-mib", "64"]
    command = [str(arguments.duty), "--device", "gpu", *turns]
    load = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(lead_s)  # a context, and some samples of it
        if load.poll() is not None:
            failure = Failure(stage=STAGE, failed=f"duty ended with status {load.returncode}")
            write(arguments.out, [failure])
            return SAID
        write(arguments.out, facts(device, load.pid, arguments.seconds))
    finally:
        load.terminate()
        load.wait()
    nv.nvmlShutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
