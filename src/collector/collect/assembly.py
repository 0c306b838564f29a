"""One task directory in, its records out, whatever state the directory is in."""

import logging
import os
from dataclasses import dataclass

from collector.collect.directories import Listing, list_directory
from collector.collect.identity import fill_from_run, fill_identity, identify
from collector.collect.options import CollectOptions, fusion_enabled, metrics_source
from collector.collect.status import Outcome, outcome_of
from collector.collect.traces import read_task_traces
from collector.errors import TraceMalformed, TraceNotFound
from collector.files import StrPath
from collector.record import FieldValue, TraceRecord
from collector.trace import (
    COMMAND_RUN_FILE,
    EXIT_FILE,
    TASK_FILE,
    TRACE_FILE,
    Trace,
    metrics_of,
    read_command_trace,
    read_exit_status,
)

__all__ = ["LISTED_FILES", "collect_copy", "collect_listed", "collect_task"]

_LOG = logging.getLogger(__name__)
_COMMAND_TRACE_FILE = ".command.trace"
_EXIT_FILE = EXIT_FILE.name
LISTED_FILES = frozenset(
    {
        TASK_FILE.name,
        _EXIT_FILE,
        TRACE_FILE.parent.name,
        _COMMAND_TRACE_FILE,
        COMMAND_RUN_FILE.name,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What one reading of a task directory found."""

    trace: Trace
    outcome: Outcome


def collect_task(directory: StrPath, options: CollectOptions | None = None) -> TraceRecord:
    """Make the record of one task directory; never raises for what the directory holds.

    By default no trace is read (`CollectOptions.fusion` is `off`). Of a directory that several jobs
    shared, the record is the last one's.
    """
    return collect_listed(_look(os.fspath(directory)), options or CollectOptions())[-1]


def collect_listed(
    listing: Listing, options: CollectOptions, *, place: str | None = None
) -> list[TraceRecord]:
    """Make the records of a task directory that has just been listed.

    `place` is where it really is, if what was listed is a copy.
    There is one; of a directory that no launcher made, one for each batch job that left a trace.
    """
    records = [identify(place or listing.path)]
    try:
        enabled = fusion_enabled(options, fill_identity(records[0], listing, options))
        evidences = _read_evidence(listing, enabled, options)
        if any(evidence.outcome.status == "ABORTED" for evidence in evidences):
            # The writer may have finished between our reading of its file and our look for it.
            listing = _look(listing.path)
            evidences = _read_evidence(listing, enabled, options)
    except Exception:
        _say_incomplete(listing.path)
        return records
    records += [TraceRecord(records[0].to_dict()) for _ in evidences[1:]]
    for record, evidence in zip(records, evidences, strict=True):
        try:
            _take(record, evidence)
            record.update(_metrics(listing, evidence.trace, options, fusion=enabled))
        except Exception:
            _say_incomplete(listing.path)
    return records


def collect_copy(trace: Trace, options: CollectOptions) -> TraceRecord:
    """Make the record of a trace that is all there is of its task."""
    workdir = trace.text("workdir")
    record = identify(workdir) if workdir else TraceRecord()
    try:
        fill_from_run(record, options)
        outcome = outcome_of(None, trace.probe, host=options.host)
        _take(record, _Evidence(trace=trace, outcome=outcome))
        record.update(metrics_of(trace))
    except Exception:
        _say_incomplete(workdir or "a copy of a trace")
    return record


def _say_incomplete(place: str) -> None:
    """Log an error that must not cost other tasks their records, or this one what is known."""
    _LOG.exception("%s: the record is incomplete", place)


def _look(directory: str) -> Listing:
    """List a directory; of one that cannot be listed, every file is tried."""
    try:
        return list_directory(directory)
    except OSError as error:
        _LOG.debug("%s: cannot be listed: %s", directory, error.strerror or error)
        return Listing(directory, LISTED_FILES, [], is_task=True)


def _read_evidence(listing: Listing, enabled: bool, options: CollectOptions) -> list[_Evidence]:
    traces = [Trace()]
    if enabled:
        try:
            traces = read_task_traces(listing, options.host)
        except Exception:  # how the task ended is told without them
            _say_incomplete(listing.path)
    exit_status = None
    if _EXIT_FILE in listing.names:
        path = f"{listing.path}/{_EXIT_FILE}"
        try:
            exit_status = read_exit_status(path)
        except (OSError, ValueError) as error:
            _LOG.warning("%s: no exit status in it: %s", path, error)
    return [
        _Evidence(trace=trace, outcome=outcome_of(exit_status, trace.probe, host=options.host))
        for trace in traces
    ]


def _take(record: TraceRecord, evidence: _Evidence) -> None:
    # The gpu block comes first, so that no fault of the figures after it can lose it.
    record.gpu_metrics = evidence.trace.gpu
    record.probe = evidence.trace.probe
    if record["status"] is None:  # Nextflow's own word, such as CACHED, counts
        record["status"] = evidence.outcome.status
    if record["exit"] is None:
        record["exit"] = evidence.outcome.exit_status
    if record.probe is not None:
        _fill_from_probe(record, evidence.trace)
    _fill_times(record)


def _fill_from_probe(record: TraceRecord, trace: Trace) -> None:
    """Take from the probe block what nothing else told: which job, when, and on which machine."""
    if record["hostname"] is None:
        record["hostname"] = trace.text("hostname")
    if record["native_id"] is None:
        record["native_id"] = trace.job_id
    if record["start"] is None:
        record["start"] = trace.number("start_ms")
    if record["complete"] is None and trace.text("state") == "final":
        record["complete"] = trace.number("written_ms")


def _fill_times(record: TraceRecord) -> None:
    """Derive what the dates tell, as Nextflow does; a measured `realtime` replaces this one."""
    submit, start, complete = record["submit"], record["start"], record["complete"]
    if isinstance(complete, int) and isinstance(submit, int):
        record["duration"] = max(0, complete - submit)
    if isinstance(complete, int) and isinstance(start, int):
        record["realtime"] = max(0, complete - start)


def _metrics(
    listing: Listing, trace: Trace, options: CollectOptions, *, fusion: bool
) -> dict[str, FieldValue]:
    source = metrics_source(options, fusion=fusion)
    if source == "trace.json" or (source == "auto" and (trace.proc or trace.cgroup)):
        return metrics_of(trace)
    if _COMMAND_TRACE_FILE not in listing.names:
        return {}
    try:
        return read_command_trace(f"{listing.path}/{_COMMAND_TRACE_FILE}")
    except (TraceNotFound, TraceMalformed) as error:
        _LOG.debug("%s", error)
        return {}
