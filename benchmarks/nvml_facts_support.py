"""What a driver supports without privileges: GPM, and the answers about MIG."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pynvml as nv

__all__ = ["gpm_facts", "mig_facts"]

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


def gpm_facts(device: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - pynvml's handle
    """Tell whether GPM works for whoever runs this."""
    yield "effective_user_is_root", os.geteuid() == 0
    try:
        supported = nv.nvmlGpmQueryDeviceSupport(device).isSupportedDevice
    except nv.NVMLError as problem:
        supported = type(problem).__name__
    yield "gpm_supported", supported
    yield "gpm_streaming", outcome(nv.nvmlGpmQueryIfStreamingEnabled, device)
    if supported == 1:
        try:
            yield "gpm_over_1_s", gpm_metrics(device, 1)
            yield "gpm_over_50_ms", gpm_metrics(device, 0.05)
        except nv.NVMLError as problem:
            yield "gpm_metrics", type(problem).__name__


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
