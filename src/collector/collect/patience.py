"""Work that may hang, such as reading a directory whose server does not answer, one after another.

The work is done by a thread that can be left behind: a system call that hangs cannot be stopped.
The threads take turns with the one that asks, a batch at a time, so that they cost each other
nothing.
"""

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

__all__ = ["Work", "work_through"]

_BATCH = 64
_STUCK_LIMIT = 16

Result = TypeVar("Result")


class Work(Protocol[Result]):
    """A piece of work."""

    def do(self) -> tuple[Sequence[Result], Iterator["Work[Result]"]]:
        """Return the results, and the work that follows from it."""
        ...

    def give_up(self) -> Sequence[Result]:
        """Return what stands for the results of work that hangs; it must not touch the disk."""
        ...


def work_through(first: Iterator[Work[Result]], *, patience_s: float) -> Iterator[Result]:
    """Do the work and all that follows from it, depth first, and yield the results in this order.

    A piece that takes longer than `patience_s` is given up, and so is, without a try, all that is
    left when 16 pieces hang at the same time.
    """
    pending = [first]
    worker: _Worker[Result] | None = None
    stuck: list[_Worker[Result]] = []
    try:
        while pending:
            stuck = [thread for thread in stuck if thread.is_alive()]
            if len(stuck) >= _STUCK_LIMIT:
                yield from _given_up(pending)
                return
            worker = worker or _Worker()
            batch = _Batch(pending)
            worker.requests.put(batch)
            hanging = batch.wait(patience_s)
            yield from batch.results
            if hanging is not None:
                stuck.append(worker)
                worker = None
                yield from hanging.give_up()
    finally:
        if worker is not None:
            worker.requests.put(None)


def _given_up(pending: list[Iterator[Work[Result]]]) -> Iterator[Result]:
    for works in reversed(pending):
        for work in works:
            yield from work.give_up()


class _Batch(Generic[Result]):
    """Some pieces of work; whoever holds the lock says what has become of the current one."""

    def __init__(self, pending: list[Iterator[Work[Result]]]) -> None:
        self.results: list[Result] = []
        self._pending = pending
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._abandoned = False
        self._current: Work[Result] | None = None
        self._since_s = time.monotonic()
        self._error: BaseException | None = None

    def run(self) -> bool:
        """Do the work; say whether anyone still waits for it."""
        try:
            for _ in range(_BATCH):
                if not self._advance():
                    break
        except BaseException as error:
            self._error = error
        self._done.set()
        return not self._abandoned

    def wait(self, patience_s: float) -> Work[Result] | None:
        """Wait until the work is done, or return the piece that takes too long."""
        left_s = patience_s
        while not self._done.wait(left_s):
            with self._lock:
                left_s = self._since_s + patience_s - time.monotonic()
                if left_s <= 0 and self._current is not None:
                    self._abandoned = True
                    return self._current
            left_s = max(left_s, 0.01)
        if self._error is not None:
            raise self._error
        return None

    def _advance(self) -> bool:
        with self._lock:
            work = self._next()
            self._current, self._since_s = work, time.monotonic()
        if work is None:
            return False
        results, following = work.do()
        with self._lock:
            self._current = None
            if self._abandoned:
                return False
            self._pending.append(following)
            self.results.extend(results)
        return True

    def _next(self) -> Work[Result] | None:
        while self._pending:
            work = next(self._pending[-1], None)
            if work is not None:
                return work
            self._pending.pop()
        return None


class _Worker(threading.Thread, Generic[Result]):
    """A thread that does batches until it is told to end, or has been left behind."""

    def __init__(self) -> None:
        super().__init__(name="collect", daemon=True)  # one that hangs must not hold up our end
        self.requests: queue.SimpleQueue[_Batch[Result] | None] = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while (batch := self.requests.get()) is not None:
            if not batch.run():
                return
