"""The sink of Seqera Platform, and the sending of what it had to keep."""

import hashlib
import re
import threading
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.errors import PlatformMisconfigured, PlatformUnreached, SinkRejected
from collector.files import printable
from collector.platform.client import PlatformClient
from collector.platform.delivery import Delivery, now_ms
from collector.platform.failures import CallFailed
from collector.platform.payload import is_mock, task_payload
from collector.platform.retry import RetryPolicy
from collector.platform.sender import Sender
from collector.platform.settings import Settings
from collector.platform.spool import Outgoing, RunState, Spool
from collector.platform.transport import HttpTransport
from collector.record import TraceRecord

__all__ = ["Outcome", "PlatformSink", "default_run_name", "key_of", "new_run", "send_spool"]

_NAME_LIMIT = 80
_SUFFIX = "-gpu"
_HASHED_PATH = re.compile(r"(?:^|/)([0-9a-f]{2}/[0-9a-f]{30})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What has come of a run's tasks.

    Attributes:
        run: the run.
        sent: tasks whose state the server has taken now.
        known: tasks that needed no sending: the server has had this state, or their end, before.
        kept: tasks that wait in the spool.
        mock: tasks that were refused because the mock driver measured them.
        rejected: tasks of which the server took no figures, only how they ended.
        failure: why not everything has been sent.
        was_refused: whether that will stay so until something is changed.
    """

    run: RunState
    sent: int = 0
    known: int = 0
    kept: int = 0
    mock: int = 0
    rejected: int = 0
    failure: str | None = None
    was_refused: bool = False


class PlatformSink:
    """Sends records to a run of its own, through a spool.

    Opening it registers the run. A server that cannot be reached is no error: records are kept.

    Raises:
        PlatformMisconfigured: what answers at the endpoint is not Seqera Platform.
        SinkRejected: the spool cannot be used.
    """

    def __init__(
        self,
        spool: Spool,
        settings: Settings,
        *,
        policy: RetryPolicy | None = None,
        include: Collection[str] = (),
    ) -> None:
        self._spool = spool
        self._include = include
        self._stopping = threading.Event()
        self._delivery = _delivery(spool, settings, policy, self._stopping)
        self._known = self._mock = 0
        try:
            self._delivery.register()
        except CallFailed as failure:
            if failure.is_foreign:
                raise PlatformMisconfigured(f"{failure}") from failure
            self._delivery.note(failure)
        spool.advance(collected=False)

    @property
    def run(self) -> RunState:
        """The run that records are sent to."""
        return self._spool.run

    def write(self, records: Iterable[TraceRecord]) -> int:
        """Send the records, or keep them; return how many were handed over.

        Raises:
            SinkRejected: the spool cannot be written, or the run has ended and there are new tasks.
        """
        handed = 0
        sender = Sender(self._delivery, self._stopping)
        is_whole = False
        try:
            for record in records:
                handed += self._hand_over(record, sender)
            is_whole = True
            sender.close()
        except BaseException:
            sender.close(at_once=True)
            if is_whole and not sender.has_failed:  # interrupted while only the sending went on
                self._delivery.note_end()
            raise
        return handed

    def finish(self) -> Outcome:
        """End the run, if everything could be sent, and say what has come of it."""
        self._delivery.note_end()
        failure = self._delivery.failure
        if self._spool.entries and (failure is None or failure.is_passing):
            failure = self._delivery.try_complete()
        return _outcome(self._spool, self._delivery, failure, known=self._known, mock=self._mock)

    def _hand_over(self, record: TraceRecord, sender: Sender) -> bool:
        if is_mock(record):
            self._mock += 1
            return False
        key = key_of(record)
        task = task_payload(record, self._spool.number_of(key), include=self._include)
        if self._spool.has(key, task["status"]):
            self._known += 1
            return False
        if self.run.completed:
            raise SinkRejected(
                f"the run {self.run.name} has ended on Seqera Platform, and a finished run cannot"
                f" be added to; task {record['hash'] or key} is new: give a new --name"
            )
        self._delivery.note_times(record["submit"] or record["start"], record["complete"])
        sender.add(Outgoing(key=key, task=task))
        return True


def send_spool(
    directory: Path, settings: Settings, *, policy: RetryPolicy | None = None
) -> Outcome:
    """Send what a spool holds, and end its run if it was collected to its end.

    Raises:
        PlatformUnreached: the server has not taken everything; the rest is still in the spool.
        SinkRejected: the spool cannot be used, or is in use.
    """
    spool = Spool.open(directory, secret=settings.token)
    try:
        delivery = _delivery(spool, settings, policy, threading.Event())
        try:
            if spool.entries and spool.run.collected:
                delivery.complete()
            elif spool.pending:
                delivery.flush()
        except CallFailed as failure:
            raise PlatformUnreached(
                f"{failure}; {_tasks(spool.pending_tasks)} still kept in {directory}"
            ) from failure
        return _outcome(spool, delivery, None)
    finally:
        spool.close()


def new_run(
    name: str, settings: Settings, *, command: Sequence[str], directories: Sequence[Path]
) -> RunState:
    """Return a run that no server knows yet; `-gpu` is added to its name."""
    return RunState(
        name=name[: _NAME_LIMIT - len(_SUFFIX)] + _SUFFIX,
        endpoint=settings.endpoint,
        workspace_id=settings.workspace_id,
        session_id=str(uuid.uuid4()),
        command_line=printable(" ".join(command)),
        work_dir=printable(directories[0].absolute()),
        registered_ms=now_ms(),
    )


def default_run_name(directory: Path) -> str:
    """Return a name for the run of a work directory: its own, or of what holds a `work/`."""
    path = directory.resolve()
    name = path.parent.name if path.name == "work" else path.name
    return printable(name) or "run"


def key_of(record: TraceRecord) -> str:
    """Return what tells a task from all others: its whole hash, as its directory is named by it.

    The short hash does not: among 10 000 tasks, two share one with a probability of 1 %. In any
    other directory there may have been several batch jobs, each of which is a task.
    """
    workdir = str(record["workdir"] or "")
    match = _HASHED_PATH.search(workdir)
    if match:
        return match[1]
    if workdir:
        return f"{workdir}#{record['native_id']}" if record["native_id"] else workdir
    known = (record.probe or {}).get("run_id") or record["hash"] or record["task_id"]
    return str(known or hashlib.sha256(repr(record.to_dict()).encode()).hexdigest())


def _delivery(
    spool: Spool, settings: Settings, policy: RetryPolicy | None, stopping: threading.Event
) -> Delivery:
    run = spool.run
    place, stated = (run.endpoint, run.workspace_id), (settings.endpoint, settings.workspace_id)
    if place != stated:
        if run.workflow_id is not None:
            workspace = "" if run.workspace_id is None else f", workspace {run.workspace_id}"
            raise SinkRejected(
                f"the run {run.name} is registered at {run.endpoint}{workspace}; set"
                " TOWER_API_ENDPOINT and TOWER_WORKSPACE_ID to that"
            )
        spool.advance(endpoint=settings.endpoint, workspace_id=settings.workspace_id)
    client = PlatformClient(
        settings,
        policy=policy,
        transport=HttpTransport(settings.endpoint, stopping=stopping),
        pause=stopping.wait,
    )
    return Delivery(spool, client)


def _outcome(
    spool: Spool, delivery: Delivery, failure: CallFailed | None, *, known: int = 0, mock: int = 0
) -> Outcome:
    return Outcome(
        run=spool.run,
        sent=len(delivery.sent),
        known=known,
        kept=spool.pending_tasks,
        mock=mock,
        rejected=delivery.rejected,
        failure=None if failure is None else str(failure),
        was_refused=failure is not None and not failure.is_passing,
    )


def _tasks(count: int) -> str:
    return "1 task is" if count == 1 else f"{count} tasks are"
