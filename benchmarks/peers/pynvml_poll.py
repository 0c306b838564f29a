"""The script that everybody writes: pynvml, once a second, plain means."""

from __future__ import annotations

import pynvml as nv

from peers.readers import Figures, Poll, TimeLine, figures_of_polls, serve


def poll(device: object) -> Poll:
    """Read one device."""
    pct: float | None
    memory: float | None
    try:
        pct = nv.nvmlDeviceGetUtilizationRates(device).gpu
    except nv.NVMLError:
        pct = None
    try:
        memory = nv.nvmlDeviceGetMemoryInfo(device, version=nv.nvmlMemory_v2).used / 2**20
    except nv.NVMLError:
        try:
            memory = nv.nvmlDeviceGetMemoryInfo(device).used / 2**20
        except nv.NVMLError:
            memory = None
    return Poll(pct=pct, memory_mib=memory)


def energy(devices: list[object]) -> int | None:
    """Read the counters; None if one does not answer."""
    try:
        return sum(int(nv.nvmlDeviceGetTotalEnergyConsumption(device)) for device in devices)
    except nv.NVMLError:
        return None


def read(line: TimeLine) -> Figures:
    """Poll from the start to the end."""
    nv.nvmlInit()
    devices = [nv.nvmlDeviceGetHandleByIndex(i) for i in range(nv.nvmlDeviceGetCount())]
    line.wait_for_start()
    before = energy(devices)
    ticks = [[poll(device) for device in devices] for _ in line.seconds()]
    line.wait_for_end()
    after = energy(devices)
    figures = figures_of_polls(ticks)
    if before is not None and after is not None:
        figures["energy_mj"] = after - before
    return figures


if __name__ == "__main__":
    serve(read)
