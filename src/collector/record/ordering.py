"""The order of records in files."""

from typing import TypeAlias

from collector.record.trace_record import TraceRecord

__all__ = ["RecordOrder", "record_order"]

RecordOrder: TypeAlias = tuple[bool, int, str, str]


def record_order(record: TraceRecord) -> RecordOrder:
    """Return the key to sort by: task ids that are numbers, by value; others last; then paths."""
    task_id, workdir = record["task_id"], str(record["workdir"])
    if isinstance(task_id, str) and task_id.isascii() and task_id.isdecimal():
        digits = task_id.lstrip("0")  # not a number: Python converts no more than 4300 digits
        return (False, len(digits), digits, workdir)
    return (True, 0, "", workdir)
