"""A thread that sends while records are made, so that neither waits for the other."""

import threading
import time

from collector.platform.delivery import Delivery
from collector.platform.spool import Outgoing
from collector.platform.window import BATCH_TASKS, Window

__all__ = ["Sender"]

_MOST_WAITING = 10 * BATCH_TASKS


class Sender:
    """Sends what is added; everything has been kept or sent when `close` returns.

    `stopping` is the event that the client's pauses wait for: once it is set, no call is repeated.
    """

    def __init__(self, delivery: Delivery, stopping: threading.Event) -> None:
        self._delivery = delivery
        self._stopping = stopping
        self._changed = threading.Condition()
        self._window = Window(last_sent=time.monotonic())
        self._closing = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="platform-sender", daemon=True)
        self._thread.start()

    def add(self, item: Outgoing) -> None:
        """Add a task's state; waits while a thousand others wait.

        Raises:
            SinkRejected: the spool cannot be written.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._error or len(self._window) < _MOST_WAITING)
            if self._error is not None:
                raise self._error
            self._window.add(item)
            if len(self._window) in (1, BATCH_TASKS):
                self._changed.notify_all()

    @property
    def has_failed(self) -> bool:
        """Whether something that was added may be lost."""
        return self._error is not None

    def close(self, *, at_once: bool = False) -> None:
        """Hand over what waits; with `at_once` it is kept without another try of sending it.

        Raises:
            SinkRejected: the spool cannot be written (not with `at_once`, when another error ends
                everything already).
        """
        if at_once:
            self._stopping.set()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._error is not None and not at_once:
            raise self._error

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    if not self._is_ready():
                        self._changed.wait(self._due_in())
                    batch = self._window.take(time.monotonic()) if self._is_due() else []
                    ended = self._closing and not batch
                    self._changed.notify_all()
                if ended:
                    return
                if batch:
                    self._delivery.put(batch, send=not self._stopping.is_set())
                elif self._due_in() <= 0:
                    self._delivery.heartbeat()
                    self._window.last_sent = time.monotonic()
        except Exception as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _is_ready(self) -> bool:
        return self._closing or self._due_in() <= 0

    def _due_in(self) -> float:
        return self._window.due_in(time.monotonic())

    def _is_due(self) -> bool:
        return self._closing or (len(self._window) > 0 and self._due_in() <= 0)
