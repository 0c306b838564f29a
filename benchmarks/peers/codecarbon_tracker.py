"""codecarbon's tracker, with a measurement a second: energy, and its mean utilization."""

from __future__ import annotations

from codecarbon import OfflineEmissionsTracker

from peers.readers import Figures, TimeLine, serve

MJ_PER_KWH = 3.6e9


def read(line: TimeLine) -> Figures:
    """Track from the start to the end."""
    tracker = OfflineEmissionsTracker(
        country_iso_code="FRA",
        measure_power_secs=1,
        save_to_file=False,
        log_level="error",
        allow_multiple_runs=True,
    )
    line.wait_for_start()
    tracker.start()
    line.wait_for_end()
    tracker.stop()
    data = tracker.final_emissions_data
    return {"energy_mj": data.gpu_energy * MJ_PER_KWH, "pct": data.gpu_utilization_percent}


if __name__ == "__main__":
    serve(read)
