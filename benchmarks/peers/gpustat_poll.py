"""gpustat's library, once a second."""

from __future__ import annotations

import gpustat

from peers.readers import Figures, Poll, TimeLine, figures_of_polls, serve


def number(gpu: object, name: str) -> float | None:
    """Take a figure; None where gpustat knows nothing, or stumbles over a device that is lost."""
    try:
        value = getattr(gpu, name)
    except ValueError:
        return None
    return value if isinstance(value, (int, float)) else None


def poll(gpu: object) -> Poll:
    """Take what gpustat says of one device."""
    return Poll(pct=number(gpu, "utilization"), memory_mib=number(gpu, "memory_used"))


def read(line: TimeLine) -> Figures:
    """Query from the start to the end."""
    return figures_of_polls([list(map(poll, gpustat.new_query())) for _ in line.seconds()])


if __name__ == "__main__":
    serve(read)
