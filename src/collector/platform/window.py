"""What is gathered before it is sent: the last state of each task; 100 tasks or one second."""

from dataclasses import dataclass, field

import orjson

from collector.platform.spool import Outgoing

__all__ = ["BATCH_TASKS", "Window"]

BATCH_TASKS = 100
_BATCH_BYTES = 1024 * 1024
_INTERVAL_S = 1.0
_ALIVE_INTERVAL_S = 60.0


@dataclass(slots=True)
class Window:
    """Tasks that wait for the next request. Moments are seconds of any steady clock."""

    last_sent: float
    _items: dict[str, Outgoing] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Outgoing) -> None:
        """Add a task's state; only the last one of each task is kept."""
        self._items.pop(item.key, None)
        self._items[item.key] = item

    def due_in(self, now: float) -> float:
        """Return the seconds until a request, or a sign of life, is due."""
        if len(self._items) >= BATCH_TASKS:
            return 0.0
        interval = _INTERVAL_S if self._items else _ALIVE_INTERVAL_S
        return max(0.0, self.last_sent + interval - now)

    def take(self, now: float) -> list[Outgoing]:
        """Take the oldest tasks: as many as one request may hold, at least one if there is any."""
        batch: list[Outgoing] = []
        size = 0
        for item in self._items.values():
            size += len(orjson.dumps(item.task))
            if batch and size > _BATCH_BYTES:
                break
            batch.append(item)
            if len(batch) == BATCH_TASKS:
                break
        for item in batch:
            del self._items[item.key]
        self.last_sent = now
        return batch
