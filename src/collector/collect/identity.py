"""Which task a directory belongs to: its path, `.task.json`, Nextflow's `trace.txt` and script."""

import logging
import os
import re

from collector.collect.directories import Listing
from collector.collect.options import CollectOptions
from collector.errors import TaskMalformed
from collector.files import StrPath, printable
from collector.record import TraceRecord
from collector.trace import (
    COMMAND_RUN_FILE,
    TASK_FILE,
    TaskFile,
    process_of,
    read_task_file,
    read_task_name,
)

__all__ = ["fill_from_run", "fill_identity", "identify"]

_LOG = logging.getLogger(__name__)
_TASK_FILE, _COMMAND_RUN_FILE = TASK_FILE.name, COMMAND_RUN_FILE.name
_HASHED_PATH = re.compile(r"(?:^|/)([0-9a-f]{2})/([0-9a-f]{6})[0-9a-f]{24}$")


def identify(directory: StrPath) -> TraceRecord:
    """Make a record of what the path, or URL, alone tells."""
    workdir = os.fspath(directory)
    if "://" not in workdir:
        workdir = printable(os.path.abspath(workdir))  # noqa: PTH100 - Path is slow
    match = _HASHED_PATH.search(workdir)
    return TraceRecord({"workdir": workdir, "hash": f"{match[1]}/{match[2]}" if match else None})


def fill_identity(record: TraceRecord, listing: Listing, options: CollectOptions) -> bool | None:
    """Set what is known of the task besides its figures; return whether it says to have a trace."""
    task = _read_task(listing)
    record.update(task.fields)
    fill_from_run(record, options)
    if record["name"] is None and _COMMAND_RUN_FILE in listing.names:
        _fill_name(record, f"{listing.path}/{_COMMAND_RUN_FILE}")
    return task.fusion


def fill_from_run(record: TraceRecord, options: CollectOptions) -> None:
    """Set what the run's `trace.txt` tells of the task with this hash."""
    task_hash, workdir = record["hash"], record["workdir"]
    if options.nextflow_trace is not None and isinstance(task_hash, str):
        record.update(options.nextflow_trace.fields_of(task_hash))
        record["workdir"] = workdir


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


def _fill_name(record: TraceRecord, path: str) -> None:
    try:
        record["name"] = read_task_name(path)
    except OSError as error:
        _LOG.debug("%s: cannot be read: %s", path, error.strerror or error)
    if record["process"] is None:
        record["process"] = process_of(record["name"])
