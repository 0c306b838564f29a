"""The traces in one `.fusion` directory, as the one trace of their task."""

import logging
import math
from collections.abc import Sequence
from pathlib import Path

from collector.collect.liveness import Host, writer_is_gone
from collector.errors import TraceMalformed, TraceNotFound
from collector.trace import BESIDE_FILE, TRACE_FILE, Trace, fold_traces, merge_traces, read_trace

__all__ = ["read_copy", "read_task_trace"]

_LOG = logging.getLogger(__name__)
_LAUNCH_MS = 10_000  # how far apart a launcher may start its ranks


def read_task_trace(directory: Path, host: Host) -> Trace:
    """Read what a task directory holds; an empty trace where there is none.

    The traces of ranks and of wrappers that ran at the same time are folded into one. A trace that
    another program wrote is merged with ours, its keys first. One trace alone is left as it is.
    """
    plain = _read(directory / TRACE_FILE)
    others = [_read(path) for path in _other_files(directory)]
    ours = [trace for trace in (plain, *others) if trace is not None and trace.probe]
    chosen = _of_one_run(ours, host)
    folded = fold_traces(chosen) if len(chosen) > 1 else next(iter(chosen), None)
    if plain is None or plain.probe:
        return folded or Trace()
    return merge_traces(plain, folded) if folded else plain


def read_copy(path: Path) -> Trace | None:
    """Read a trace that lies outside its task's directory; `None`, with a warning, if it is none.

    Only ours say whose they are.
    """
    trace = _read(path)
    if trace is None or not trace.probe:
        _LOG.warning("%s: no trace of gpu-probe; left out", path)
        return None
    return trace


def _other_files(directory: Path) -> list[Path]:
    try:
        names = sorted(path.name for path in (directory / TRACE_FILE.parent).iterdir())
    except OSError:
        return []
    return [
        directory / TRACE_FILE.parent / name
        for name in names
        if name == BESIDE_FILE.name
        or (name.startswith("trace.") and name.endswith(".json") and name != TRACE_FILE.name)
    ]


def _read(path: Path) -> Trace | None:
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
