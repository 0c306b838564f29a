"""A measurement window of zeus: energy, from the driver's counter."""

from __future__ import annotations

from zeus.monitor import ZeusMonitor

from peers.readers import Figures, TimeLine, serve


def read(line: TimeLine) -> Figures:
    """Measure from the start to the end."""
    monitor = ZeusMonitor(cpu_indices=[])
    line.wait_for_start()
    monitor.begin_window("task", sync_execution=False)
    line.wait_for_end()
    measured = monitor.end_window("task", sync_execution=False)
    return {"energy_mj": 1000 * sum(measured.gpu_energy.values())}


if __name__ == "__main__":
    serve(read)
