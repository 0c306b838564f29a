"""One task directory in, one record out, whatever state the directory is in."""

import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from collector.collect.directories import find_sources
from collector.collect.options import CollectOptions, fusion_enabled
from collector.collect.status import Outcome, outcome_of
from collector.collect.traces import read_copy, read_task_trace
from collector.errors import TaskMalformed, TraceMalformed, TraceNotFound
from collector.files import printable
from collector.record import FieldValue, TraceRecord
from collector.trace import (
    EXIT_FILE,
    TASK_FILE,
    TaskFile,
    Trace,
    counter,
    metrics_of,
    read_command_trace,
    read_exit_status,
    read_task_file,
)

__all__ = ["collect_directories", "collect_task"]

_LOG = logging.getLogger(__name__)
_COMMAND_TRACE_FILE = ".command.trace"
_HASHED_PATH = re.compile(r"(?:^|/)([0-9a-f]{2})/([0-9a-f]{6})[0-9a-f]{24}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What one reading of a task directory found."""

    trace: Trace
    outcome: Outcome


def collect_directories(
    roots: Iterable[Path], options: CollectOptions | None = None
) -> list[TraceRecord]:
    """Make one record of each task directory, and of each copy of a trace, at and below the roots.

    A root may also be such a copy itself. A copy of a trace that a task directory holds is no task
    of its own.

    The order is that of the task ids which are numbers, by value; the others come after them. Equal
    ids, as those of several runs, are in the order of the paths that the records state, then of the
    real paths. It does not depend on the order in which directories are named or listed.

    Raises:
        CollectFailed: a root does not exist or is not a directory.
    """
    options = options or CollectOptions()
    # Sorting keeps the order of equals.
    directories, copies = find_sources(roots)
    records = [collect_task(path, options) for path in sorted(directories, key=os.path.realpath)]
    seen = {(record.probe or {}).get("run_id") for record in records}
    for path in copies if options.fusion != "off" else ():
        trace = read_copy(path)
        if trace is not None and trace.text("run_id") not in seen:
            seen.add(trace.text("run_id"))
            records.append(_record_of_copy(trace, options))
    return sorted(records, key=_task_order)


def collect_task(directory: Path, options: CollectOptions | None = None) -> TraceRecord:
    """Make the record of one task directory; never raises for what the directory holds.

    By default no trace is read (`CollectOptions.fusion` is `off`).
    """
    options = options or CollectOptions()
    record = TraceRecord(_identity_from_path(directory))
    try:
        _fill(record, directory, options)
    except Exception:
        # A damaged directory must not cost the other tasks their records, nor itself what is known.
        _LOG.exception("%s: the record is incomplete", directory)
    return record


def _record_of_copy(trace: Trace, options: CollectOptions) -> TraceRecord:
    """Make the record of a trace that is all there is of its task."""
    workdir = trace.text("workdir")
    record = TraceRecord(_identity_from_path(Path(workdir)) if workdir else {})
    outcome = outcome_of(None, trace.probe, host=options.host)
    _take(record, _Evidence(trace=trace, outcome=outcome))
    record.update(metrics_of(trace))
    return record


def _fill(record: TraceRecord, directory: Path, options: CollectOptions) -> None:
    task = _read_task(directory)
    record.update(task.fields)
    enabled = fusion_enabled(options, task.fusion)
    evidence = _read_evidence(directory, enabled, options)
    if evidence.outcome.status == "ABORTED":
        # The writer may have finished between our reading of its file and our look for its process.
        evidence = _read_evidence(directory, enabled, options)
    _take(record, evidence)
    record.update(_metrics(directory, evidence.trace, options))


def _take(record: TraceRecord, evidence: _Evidence) -> None:
    record.gpu_metrics = evidence.trace.gpu
    record.probe = evidence.trace.probe
    record["status"] = evidence.outcome.status
    record["exit"] = evidence.outcome.exit_status
    _fill_from_probe(record)
    _fill_times(record)


def _identity_from_path(directory: Path) -> dict[str, FieldValue]:
    workdir = printable(directory.absolute())
    match = _HASHED_PATH.search(workdir)
    return {"workdir": workdir, "hash": f"{match[1]}/{match[2]}" if match else None}


def _read_task(directory: Path) -> TaskFile:
    try:
        task = read_task_file(directory / TASK_FILE)
    except TaskMalformed as error:
        _LOG.warning("%s", error)
        return TaskFile()
    if task is None:
        return TaskFile()
    for problem in task.problems:
        _LOG.warning("%s", problem)
    return task


def _read_evidence(directory: Path, enabled: bool, options: CollectOptions) -> _Evidence:
    trace = read_task_trace(directory, options.host) if enabled else Trace()
    try:
        exit_status = read_exit_status(directory / EXIT_FILE)
    except (OSError, ValueError) as error:
        _LOG.warning("%s: no exit status in it: %s", directory / EXIT_FILE, error)
        exit_status = None
    return _Evidence(trace=trace, outcome=outcome_of(exit_status, trace.probe, host=options.host))


def _fill_from_probe(record: TraceRecord) -> None:
    """Take from the probe block what no `.task.json` told: when, and on which machine."""
    probe = record.probe or {}
    hostname = probe.get("hostname")
    start_ms, end_ms = counter(probe.get("start_ms")), counter(probe.get("written_ms"))
    if record["hostname"] is None and isinstance(hostname, str):
        record["hostname"] = hostname
    if record["start"] is None:
        record["start"] = start_ms
    if record["complete"] is None and probe.get("state") == "final":
        record["complete"] = end_ms


def _fill_times(record: TraceRecord) -> None:
    """Derive what the dates tell, as Nextflow does; a measured `realtime` replaces this one."""
    submit, start, complete = record["submit"], record["start"], record["complete"]
    if isinstance(complete, int) and isinstance(submit, int):
        record["duration"] = max(0, complete - submit)
    if isinstance(complete, int) and isinstance(start, int):
        record["realtime"] = max(0, complete - start)


def _metrics(directory: Path, trace: Trace, options: CollectOptions) -> dict[str, FieldValue]:
    from_trace = options.metrics_from == "trace.json" or (
        options.metrics_from == "auto" and bool(trace.proc or trace.cgroup)
    )
    if from_trace:
        return metrics_of(trace)
    try:
        return read_command_trace(directory / _COMMAND_TRACE_FILE)
    except (TraceNotFound, TraceMalformed) as error:
        _LOG.debug("%s", error)
        return {}


def _task_order(record: TraceRecord) -> tuple[bool, int, str, str]:
    task_id, workdir = record["task_id"], str(record["workdir"])
    if isinstance(task_id, str) and task_id.isascii() and task_id.isdecimal():
        digits = task_id.lstrip("0")  # not a number: Python converts no more than 4300 digits
        return (False, len(digits), digits, workdir)
    return (True, 0, "", workdir)
