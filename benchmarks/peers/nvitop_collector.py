"""nvitop's own collector: a thread that reads once a second and integrates over time."""

from __future__ import annotations

from math import isnan

from nvitop import Device, ResourceMetricCollector

from peers.readers import Figures, TimeLine, folded, serve

KEYS = {
    "pct": "gpu_utilization (%)/mean",
    "peak": "gpu_utilization (%)/max",
    "avg_mem": "memory_used (MiB)/mean",
    "peak_mem_used": "memory_used (MiB)/max",
}


def figures_of(metrics: dict[str, float], index: int) -> dict[str, float]:
    """Pick the figures of one device; NaN says that nothing was read."""
    named = {name: metrics.get(f"task/gpu:{index}/{key}") for name, key in KEYS.items()}
    return {name: value for name, value in named.items() if value is not None and not isnan(value)}


def read(line: TimeLine) -> Figures:
    """Collect from the start to the end."""
    devices = Device.all()
    collector = ResourceMetricCollector(devices, interval=1.0)
    line.wait_for_start()
    with collector(tag="task"):
        line.wait_for_end()
        metrics = collector.collect()
    return folded([figures_of(metrics, index) for index in range(len(devices))])


if __name__ == "__main__":
    serve(read)
