"""gpustat's library, once a second."""

from __future__ import annotations

import gpustat

from peers.readers import Figures, Poll, TimeLine, figures_of_polls, serve


def poll(gpu: object) -> Poll:
    """Take what gpustat says of one device, which may be that it knows nothing."""
    pct, memory = getattr(gpu, "utilization", None), getattr(gpu, "memory_used", None)
    number = (int, float)
    return Poll(
        pct=pct if isinstance(pct, number) else None,
        memory_mib=memory if isinstance(memory, number) else None,
    )


def read(line: TimeLine) -> Figures:
    """Query from the start to the end."""
    return figures_of_polls([list(map(poll, gpustat.new_query())) for _ in line.seconds()])


if __name__ == "__main__":
    serve(read)
