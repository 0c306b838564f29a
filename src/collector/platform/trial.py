"""What would be sent, without a server, a token or a spool."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import orjson

from collector.platform.client import call_path
from collector.platform.delivery import now_ms
from collector.platform.payload import is_mock, task_payload
from collector.platform.requests import (
    begin_request,
    complete_request,
    create_request,
    progress_request,
)
from collector.platform.sink import key_of
from collector.platform.spool import Outgoing, RunState
from collector.platform.tally import Entry, Tally, entry_of, metrics_of
from collector.platform.window import Window
from collector.record import TraceRecord

__all__ = ["dry_run"]

_NO_ID = "WORKFLOW"


def dry_run(
    run: RunState, records: Iterable[TraceRecord], *, include: Collection[str] = ()
) -> Iterator[bytes]:
    """Yield a JSON line for each call that a collection would make: its name, path and body."""
    window = Window(last_sent=0.0)
    numbers: dict[str, int] = {}
    for record in records:
        if not is_mock(record):
            number = numbers.setdefault(key_of(record), len(numbers) + 1)
            task = task_payload(record, number, include=include)
            window.add(Outgoing(key=key_of(record), task=task))
    tally, entries = Tally(), dict[str, Entry]()
    batches = []
    while window:
        batch = window.take(0.0)
        batches.append([item.task for item in batch])
        for item in batch:
            entries[item.key] = entry_of(item.task, 0)
            tally.replace(None, entries[item.key])
    moment_ms = now_ms()
    yield _line("create", None, create_request(run, moment_ms))
    yield _line("begin", _NO_ID, begin_request(run, tally.processes))
    for tasks in batches:
        yield _line("progress", _NO_ID, progress_request(tasks, tally.progress()))
    complete = complete_request(run, tally, metrics_of(entries), moment_ms)
    yield _line("complete", _NO_ID, complete)


def _line(call: str, workflow_id: str | None, body: dict[str, Any]) -> bytes:
    described = {"call": call, "path": call_path(call, workflow_id), "body": body}
    return orjson.dumps(described, option=orjson.OPT_APPEND_NEWLINE)
