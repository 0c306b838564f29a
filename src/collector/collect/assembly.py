"""One task directory in, one record out, whatever state the directory is in."""

import logging
import os
import re
from dataclasses import dataclass

from collector.collect.directories import Listing, list_directory
from collector.collect.options import CollectOptions, fusion_enabled
from collector.collect.status import Outcome, outcome_of
from collector.collect.traces import read_task_trace
from collector.errors import TaskMalformed, TraceMalformed, TraceNotFound
from collector.files import StrPath, printable
from collector.record import FieldValue, TraceRecord
from collector.trace import (
    EXIT_FILE,
    TASK_FILE,
    TRACE_FILE,
    TaskFile,
    Trace,
    counter,
    metrics_of,
    read_command_trace,
    read_exit_status,
    read_task_file,
)

__all__ = ["collect_listed", "collect_task", "identify"]

_LOG = logging.getLogger(__name__)
_COMMAND_TRACE_FILE = ".command.trace"
_TASK_FILE, _EXIT_FILE = TASK_FILE.name, EXIT_FILE.name
_FILES = frozenset({_TASK_FILE, _EXIT_FILE, TRACE_FILE.parent.name, _COMMAND_TRACE_FILE})
_HASHED_PATH = re.compile(r"(?:^|/)([0-9a-f]{2})/([0-9a-f]{6})[0-9a-f]{24}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What one reading of a task directory found."""

    trace: Trace
    outcome: Outcome


def collect_task(directory: StrPath, options: CollectOptions | None = None) -> TraceRecord:
    """Make the record of one task directory; never raises for what the directory holds.

    By default no trace is read (`CollectOptions.fusion` is `off`).
    """
    return collect_listed(_look(os.fspath(directory)), options or CollectOptions())


def collect_listed(listing: Listing, options: CollectOptions) -> TraceRecord:
    """Make the record of a task directory that has just been listed."""
    record = identify(listing.path)
    try:
        _fill(record, listing, options)
    except Exception:
        # A damaged directory must not cost the other tasks their records, nor itself what is known.
        _LOG.exception("%s: the record is incomplete", listing.path)
    return record


def identify(directory: str) -> TraceRecord:
    """Make a record of what the path alone tells."""
    workdir = printable(os.path.abspath(directory))  # noqa: PTH100 - once a task, and Path is slow
    match = _HASHED_PATH.search(workdir)
    return TraceRecord({"workdir": workdir, "hash": f"{match[1]}/{match[2]}" if match else None})


def _look(directory: str) -> Listing:
    """List a directory; of one that cannot be listed, every file is tried."""
    try:
        return list_directory(directory)
    except OSError as error:
        _LOG.debug("%s: cannot be listed: %s", directory, error.strerror or error)
        return Listing(directory, _FILES, [], is_task=True)


def _fill(record: TraceRecord, listing: Listing, options: CollectOptions) -> None:
    task = _read_task(listing)
    record.update(task.fields)
    enabled = fusion_enabled(options, task.fusion)
    evidence = _read_evidence(listing, enabled, options)
    if evidence.outcome.status == "ABORTED":
        # The writer may have finished between our reading of its file and our look for its process.
        listing = _look(listing.path)
        evidence = _read_evidence(listing, enabled, options)
    record.gpu_metrics = evidence.trace.gpu
    record.probe = evidence.trace.probe
    record["status"] = evidence.outcome.status
    record["exit"] = evidence.outcome.exit_status
    _fill_from_probe(record)
    _fill_times(record)
    record.update(_metrics(listing, evidence.trace, options))


def _read_task(listing: Listing) -> TaskFile:
    if _TASK_FILE not in listing.names:
        return TaskFile()
    try:
        task = read_task_file(f"{listing.path}/{_TASK_FILE}")
    except TaskMalformed as error:
        _LOG.warning("%s", error)
        return TaskFile()
    if task is None:
        return TaskFile()
    for problem in task.problems:
        _LOG.warning("%s", problem)
    return task


def _read_evidence(listing: Listing, enabled: bool, options: CollectOptions) -> _Evidence:
    trace = read_task_trace(listing, options.host) if enabled else Trace()
    exit_status = None
    if _EXIT_FILE in listing.names:
        path = f"{listing.path}/{_EXIT_FILE}"
        try:
            exit_status = read_exit_status(path)
        except (OSError, ValueError) as error:
            _LOG.warning("%s: no exit status in it: %s", path, error)
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


def _metrics(listing: Listing, trace: Trace, options: CollectOptions) -> dict[str, FieldValue]:
    from_trace = options.metrics_from == "trace.json" or (
        options.metrics_from == "auto" and bool(trace.proc or trace.cgroup)
    )
    if from_trace:
        return metrics_of(trace)
    if _COMMAND_TRACE_FILE not in listing.names:
        return {}
    try:
        return read_command_trace(f"{listing.path}/{_COMMAND_TRACE_FILE}")
    except (TraceNotFound, TraceMalformed) as error:
        _LOG.debug("%s", error)
        return {}
