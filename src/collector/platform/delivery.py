"""Bringing a spool to the server: what is kept is sent in its order, an outage changes nothing."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from collector.platform.client import PlatformClient
from collector.platform.failures import CallFailed
from collector.platform.requests import (
    begin_request,
    complete_request,
    create_request,
    heartbeat_request,
    progress_request,
)
from collector.platform.spool import Outgoing, Spool
from collector.platform.tally import metrics_of

__all__ = ["Delivery", "now_ms"]

_LOG = logging.getLogger(__name__)
_URL_LIMIT = 2000
_RETRY_INTERVAL_S = 60.0
_REFUSED_CONTENT = frozenset({400, 413, 422})
_ESSENTIAL = ("taskId", "status", "hash", "process", "name", "exit")


def now_ms() -> int:
    """Return ms since 1970."""
    return time.time_ns() // 1_000_000


class Delivery:
    """Sends what a spool holds.

    Attributes:
        failure: why the server cannot be reached now; `None` while it can.
        rejected: how many tasks it has taken only without their figures.
        sent: the ids of the tasks that it has taken.
    """

    def __init__(
        self,
        spool: Spool,
        client: PlatformClient,
        *,
        clock: Callable[[], float] = time.monotonic,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self.spool = spool
        self.failure: CallFailed | None = None
        self.rejected = 0
        self.sent: set[int] = set()
        self._start_ms: int | None = None
        self._end_ms: int | None = None
        self._client = client
        self._clock = clock
        self._clock_ms = clock_ms
        self._retry_at = 0.0

    def register(self) -> None:
        """Make the run known to the server, if it is not.

        Raises:
            CallFailed: the server did not take it.
        """
        run = self.spool.run
        if run.workflow_id is not None:
            return
        answer = self._client.call("create", create_request(run, self._clock_ms()))
        workflow_id, watch_url = answer.get("workflowId"), answer.get("watchUrl")
        if not isinstance(workflow_id, str) or not workflow_id:
            raise CallFailed(
                f"Seqera Platform at {self._client.place}: no workflowId in its answer;"
                " check TOWER_API_ENDPOINT",
                is_foreign=True,
            )
        self.spool.advance(workflow_id=workflow_id)
        self._note_url(watch_url)

    def put(self, batch: list[Outgoing], *, send: bool = True) -> None:
        """Keep a batch and, as far as the server can be reached and `send` allows, send it.

        Raises:
            SinkRejected: it cannot be kept.
        """
        self.spool.add(batch)
        if send and (self.failure is None or self._clock() >= self._retry_at):
            self.attempt()

    def attempt(self) -> None:
        """Send what is kept; a failure is noted and said once."""
        try:
            with self._client.patience(once=self.failure is not None):
                self.flush()
        except CallFailed as failure:
            self.note(failure)
        else:
            if self.failure is not None:
                _LOG.warning("Seqera Platform at %s takes tasks again", self._client.place)
            self.failure = None

    def note(self, failure: CallFailed) -> None:
        """Remember that the server cannot be reached, and say so if that is new."""
        if self.failure is None:
            _LOG.warning("%s; tasks are kept in %s", failure, self.spool.directory)
        self.failure = failure
        wait_s = _RETRY_INTERVAL_S if failure.is_passing else float("inf")
        self._retry_at = self._clock() + wait_s

    def flush(self) -> None:
        """Send all that is kept, oldest first.

        Raises:
            CallFailed: the server did not take it.
        """
        self.register()
        if not self.spool.run.begun:
            self.spool.advance(start_ms=self._start_ms or self.spool.run.start_ms)
            answer = self._call("begin", begin_request(self.spool.run, self.spool.tally.processes))
            self._note_url(answer.get("watchUrl"))
            self.spool.advance(begun=True)
        for number in self.spool.pending:
            self._send(number)

    def heartbeat(self) -> None:
        """Tell the server that the run goes on; a failure of that is not worth a word."""
        if self.failure is not None:
            if self._clock() >= self._retry_at:
                self.attempt()
            return
        if not self.spool.run.begun:
            return
        try:
            self._call("heartbeat", heartbeat_request(self.spool.tally.progress()))
        except CallFailed as failure:
            _LOG.debug("%s", failure)

    def complete(self) -> None:
        """Send all that is kept, then the end of the run with its metrics.

        Raises:
            CallFailed: the server did not take it.
        """
        self.flush()
        if not self.spool.run.completed:
            self._call(
                "complete",
                complete_request(
                    self.spool.run,
                    self.spool.tally,
                    metrics_of(self.spool.entries),
                    self._clock_ms(),
                ),
            )
            self.spool.advance(completed=True)

    def try_complete(self) -> CallFailed | None:
        """Complete the run; return, and say, why that failed, or `None`."""
        try:
            with self._client.patience(once=self.failure is not None):
                self.complete()
        except CallFailed as failure:
            self.note(failure)
            return failure
        return None

    def note_times(self, start_ms: object, end_ms: object) -> None:
        """Let a task's times count for those of the run."""
        if isinstance(start_ms, int):
            self._start_ms = min(start_ms, self._start_ms or start_ms)
        if isinstance(end_ms, int):
            self._end_ms = max(end_ms, self._end_ms or end_ms)

    def note_end(self) -> None:
        """Keep the times of the run, and that no task is added to it any more."""
        run = self.spool.run
        starts = [moment for moment in (run.start_ms, self._start_ms) if moment]
        ends = [moment for moment in (run.end_ms, self._end_ms) if moment]
        self.spool.advance(
            start_ms=min(starts, default=None), end_ms=max(ends, default=None), collected=True
        )

    def _send(self, number: int) -> None:
        items = self.spool.read(number)
        waiting = [items]
        while waiting:
            part = waiting.pop(0)
            try:
                self._progress(part)
            except CallFailed as failure:
                if failure.status not in _REFUSED_CONTENT:
                    raise
                if len(part) > 1:  # one task must not cost the others
                    middle = len(part) // 2
                    waiting[:0] = [part[:middle], part[middle:]]
                else:
                    self._send_reduced(part[0], failure)
        self.spool.accept(number)
        self.sent.update(item.task["taskId"] for item in items)

    def _send_reduced(self, item: Outgoing, refusal: CallFailed) -> None:
        """Report at least how a task ended whose figures the server refuses.

        If it refuses that too, the reason is not in the task: the failure is passed on.
        """
        reduced = {key: item.task[key] for key in _ESSENTIAL if key in item.task}
        self._progress([Outgoing(key=item.key, task=reduced)])
        _LOG.warning("the figures of task %s are refused: %s", item.key, refusal)
        self.spool.reject(item, str(refusal))
        self.rejected += 1

    def _progress(self, items: list[Outgoing]) -> None:
        tasks = [item.task for item in items]
        self._call("progress", progress_request(tasks, self.spool.tally.progress()))

    def _call(self, call: str, request: dict[str, Any]) -> Mapping[str, Any]:
        body = {**request, "instant": self._clock_ms()}
        return self._client.call(call, body, workflow_id=self.spool.run.workflow_id)

    def _note_url(self, url: object) -> None:
        """Keep the address of the run's page, if it is one that can be shown to people."""
        if not isinstance(url, str) or len(url) > _URL_LIMIT or not url.isprintable():
            return
        if url.startswith(("https://", "http://")):
            self.spool.advance(watch_url=url)
