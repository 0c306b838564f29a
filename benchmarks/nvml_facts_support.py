"""What a driver supports without privileges: GPM, and the answers about MIG."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pynvml as nv

__all__ = ["gpm_facts", "mig_facts"]

NOBODY = 65534  # user and group
# Ids of the vendor's header.
METRICS = {1: "graphics_util", 2: "sm_util", 3: "sm_occupancy", 5: "any_tensor", 10: "dram_bw_util"}


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - what it gives
    """Give what the call gives, as far as JSON has it, or the name of its error."""
    try:
        value = call(*arguments)
    except nv.NVMLError as problem:
        return type(problem).__name__
    return value if isinstance(value, int | float | str | list | None) else "success"


def gpm_metrics(device: Any, seconds: float) -> dict[str, Any]:  # noqa: ANN401 - pynvml's handle
    """Take two samples so far apart; give each metric, or its return code."""
    before, after = nv.nvmlGpmSampleAlloc(), nv.nvmlGpmSampleAlloc()
    try:
        nv.nvmlGpmSampleGet(device, before)
        time.sleep(seconds)
        nv.nvmlGpmSampleGet(device, after)
        request = nv.c_nvmlGpmMetricsGet_t()
        request.version = nv.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(METRICS)
        request.sample1, request.sample2 = before, after
        for slot, metric in enumerate(METRICS):
            request.metrics[slot].metricId = metric
        nv.nvmlGpmMetricsGet(request)
        slots = zip(request.metrics, METRICS.values(), strict=False)
        return {
            name: slot.value if slot.nvmlReturn == 0 else f"code {slot.nvmlReturn}"
            for slot, name in slots
        }
    finally:
        nv.nvmlGpmSampleFree(before)
        nv.nvmlGpmSampleFree(after)


def gpm_support(device: Any) -> dict[str, Any]:  # noqa: ANN401 - pynvml's handle
    """Tell what GPM gives to the user that this process runs as."""
    try:
        supported = nv.nvmlGpmQueryDeviceSupport(device).isSupportedDevice
    except nv.NVMLError as problem:
        return {"supported": type(problem).__name__}
    found: dict[str, Any] = {"supported": supported}
    found["streaming"] = outcome(nv.nvmlGpmQueryIfStreamingEnabled, device)
    for name, seconds in (("over_1_s", 1.0), ("over_50_ms", 0.05)) if supported else ():
        try:
            found[name] = gpm_metrics(device, seconds)
        except nv.NVMLError as problem:
            found[name] = type(problem).__name__
    return found


def gpm_facts(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell what GPM gives to whoever runs this, and, from root, what it gives to nobody."""
    yield "gpm", gpm_support(device)
    yield "gpm_asked_as_root", os.geteuid() == 0
    if os.geteuid() == 0:
        done = subprocess.run([sys.executable, __file__], capture_output=True, check=False)
        words = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        yield "gpm_as_nobody", json.loads(done.stdout) if done.returncode == 0 else words


def instance_facts(instance: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell what each call says of an instance."""
    kind = nv.NVML_GPU_UTILIZATION_SAMPLES
    yield "uuid", outcome(nv.nvmlDeviceGetUUID, instance)
    yield "rates", outcome(nv.nvmlDeviceGetUtilizationRates, instance)
    yield "samples", outcome(nv.nvmlDeviceGetSamples, instance, kind, 0)
    yield "memory", outcome(nv.nvmlDeviceGetMemoryInfo, instance)
    yield "processes", outcome(nv.nvmlDeviceGetComputeRunningProcesses, instance)
    yield "energy", outcome(nv.nvmlDeviceGetTotalEnergyConsumption, instance)


def mig_facts(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell what the calls say about MIG, and about its instances where it is on."""
    yield "mig_mode", outcome(nv.nvmlDeviceGetMigMode, device)
    most = outcome(nv.nvmlDeviceGetMaxMigDeviceCount, device)
    yield "mig_most_devices", most
    for index in range(most if isinstance(most, int) and most > 0 else 1):
        try:
            instance = nv.nvmlDeviceGetMigDeviceHandleByIndex(device, index)
        except nv.NVMLError as problem:
            yield f"mig_{index}", type(problem).__name__
            continue
        for name, value in instance_facts(instance):
            yield f"mig_{index}_{name}", value


def main() -> int:
    """Become nobody, and print what GPM gives then."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    nv.nvmlInit()
    print(json.dumps(gpm_support(nv.nvmlDeviceGetHandleByIndex(0))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
