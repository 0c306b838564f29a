"""The traces in one `.fusion` directory, as the one trace of their task."""

import logging
import math
import os
from collections.abc import Iterable, Sequence

from collector.collect.directories import Listing
from collector.collect.liveness import Host, writer_is_gone
from collector.errors import TraceMalformed, TraceNotFound
from collector.trace import (
    BESIDE_FILE,
    EXIT_FILE,
    TASK_FILE,
    TRACE_FILE,
    Trace,
    fold_traces,
    merge_traces,
    read_trace,
)

__all__ = ["read_copy", "read_task_traces", "was_launched"]

_LOG = logging.getLogger(__name__)
_DIRECTORY, _FILE, _BESIDE = TRACE_FILE.parent.name, TRACE_FILE.name, BESIDE_FILE.name
# What a launcher that makes a directory for one task leaves there.
_LAUNCHED = frozenset({TASK_FILE.name, EXIT_FILE.name, ".command.sh", ".command.run"})
_LAUNCH_MS = 10_000  # how far apart a launcher may start its ranks


def read_task_traces(listing: Listing, host: Host) -> list[Trace]:
    """Read what a task directory holds; an empty trace where there is none.

    The traces of ranks and of wrappers that ran at the same time are folded into one. A trace that
    another program wrote is merged with ours, its keys first. One trace alone is left as it is.
    There is more than one in the result only for a directory that no launcher made for one task:
    then each batch job is a task, in the order in which they started.
    """
    names = _names_in_trace_directory(listing)
    plain = _read(f"{listing.path}/{_DIRECTORY}/{_FILE}") if _FILE in names else None
    others = [_read(f"{listing.path}/{_DIRECTORY}/{name}") for name in _others(names)]
    if not others:
        return [plain or Trace()]
    ours = [trace for trace in (plain, *others) if trace is not None and trace.probe]
    if not was_launched(listing):
        jobs = _by_job(ours)
        if len(jobs) > 1 and (plain is None or plain.probe):
            return [_one_trace(traces, host) for traces in jobs]
    folded = _one_trace(ours, host)
    if plain is None or plain.probe:
        return [folded]
    return [merge_traces(plain, folded) if ours else plain]


def read_copy(path: str) -> Trace | None:
    """Read a trace that lies outside its task's directory; `None`, with a warning, if it is none.

    Only ours say whose they are.
    """
    trace = _read(path)
    if trace is None or not trace.probe:
        _LOG.warning("%s: no trace of gpu-probe; left out", path)
        return None
    return trace


def was_launched(listing: Listing) -> bool:
    """Say whether a launcher made the directory, for one task."""
    return not listing.names.isdisjoint(_LAUNCHED)


def _one_trace(traces: Sequence[Trace], host: Host) -> Trace:
    chosen = _of_one_run(traces, host)
    return fold_traces(chosen) if len(chosen) > 1 else next(iter(chosen), Trace())


def _by_job(traces: Iterable[Trace]) -> list[list[Trace]]:
    """Sort traces into batch jobs, the elements of an array each into its own."""
    jobs: dict[str | None, list[Trace]] = {}
    for trace in traces:
        jobs.setdefault(trace.job_id, []).append(trace)
    return sorted(
        jobs.values(), key=lambda job: min(trace.number("start_ms") or 0 for trace in job)
    )


def _names_in_trace_directory(listing: Listing) -> list[str]:
    path = f"{listing.path}/{_DIRECTORY}"
    names: list[str] = []
    try:
        if _DIRECTORY in listing.names:
            names = os.listdir(path)  # noqa: PTH208 - names, not paths
    except OSError as error:
        _LOG.debug("%s: cannot be listed: %s", path, error.strerror or error)
    if _FILE not in names:
        _LOG.debug("%s/%s: no trace", path, _FILE)
    return names


def _others(names: Iterable[str]) -> list[str]:
    return sorted(
        name
        for name in names
        if name == _BESIDE
        or (name.startswith("trace.") and name.endswith(".json") and name != _FILE)
    )


def _read(path: str) -> Trace | None:
    try:
        trace = read_trace(path)
    except (TraceNotFound, TraceMalformed) as error:
        _LOG.debug("%s", error)
        return None
    for problem in trace.problems:
        _LOG.debug("%s", problem)
    return trace


def _of_one_run(traces: Sequence[Trace], host: Host) -> list[Trace]:
    """Leave out what earlier runs left behind, and what an outer measurement covers already.

    Of one run are the trace that started last, those that were still being written then, the ranks
    of its job step, and the elements of its job array. Ranks whose launcher names no step may have
    ended shortly before.
    """
    run_ids = {trace.text("run_id") for trace in traces}
    separate = [trace for trace in traces if trace.text("within") not in run_ids - {None}]
    if len(separate) < 2:
        return separate
    newest = max(separate, key=lambda trace: trace.number("start_ms") or 0)
    began = newest.number("start_ms") or 0
    return [
        trace
        for trace in separate
        if trace is newest
        or _end_ms(trace, host) >= began - _slack_ms(trace, newest)
        or _share(trace, newest, ("job", "step"))
        or (_share(trace, newest, ("job",)) and trace.text("array") and newest.text("array"))
    ]


def _end_ms(trace: Trace, host: Host) -> float:
    probe = trace.probe or {}
    if probe.get("state") == "running" and not writer_is_gone(probe, host):
        return math.inf
    return trace.number("written_ms") or 0


def _slack_ms(trace: Trace, other: Trace) -> int:
    ranks = trace.text("rank"), other.text("rank")
    comparable = None not in ranks and ranks[0] != ranks[1]
    unnamed = trace.text("step") is None and trace.text("job") == other.text("job")
    return _LAUNCH_MS if comparable and unnamed else 0


def _share(trace: Trace, other: Trace, keys: tuple[str, ...]) -> bool:
    return all(trace.text(key) is not None and trace.text(key) == other.text(key) for key in keys)
