"""What a run's tasks come to: the counters of `progress`, and the metrics at the end."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collector.platform.payload import TERMINAL
from collector.platform.series import RunMetrics, series_values

__all__ = ["Entry", "Tally", "entry_of", "metrics_of"]

_COUNTERS = {
    "pending": "NEW",
    "submitted": "SUBMITTED",
    "running": "RUNNING",
    "succeeded": "COMPLETED",
    "failed": "FAILED",
    "aborted": "ABORTED",
    "cached": "CACHED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is kept of a task's last state; `batch` is the number of the spool file that holds it.

    `cpus` and `memory` (bytes) are what was requested, `values` what it adds to the run's series.
    """

    task_id: int
    batch: int
    status: str
    process: str
    name: str
    cpus: int
    memory: int
    values: tuple[float | None, ...]

    @property
    def is_terminal(self) -> bool:
        """Whether the task has ended."""
        return self.status in TERMINAL


def entry_of(task: Mapping[str, Any], batch: int) -> Entry:
    """Describe a task object that is in a spool file."""
    return Entry(
        task_id=task["taskId"],
        batch=batch,
        status=task["status"],
        process=task.get("process", "unknown"),
        name=task.get("name", ""),
        cpus=task.get("cpus", 0),
        memory=task.get("memory", 0),
        values=series_values(task),
    )


class Tally:
    """Counters that follow each change, so that a batch costs the same in a run of any size."""

    def __init__(self) -> None:
        self._processes: dict[str, Counter[str]] = {}

    def replace(self, old: Entry | None, new: Entry) -> None:
        """Count a task's new state instead of its old one."""
        if old is not None:
            self._count(old, -1)
        self._count(new, 1)

    @property
    def processes(self) -> list[str]:
        """The processes' names, in the order of first sight."""
        return list(self._processes)

    @property
    def failures(self) -> int:
        """How many tasks did not succeed."""
        return sum(counts["FAILED"] + counts["ABORTED"] for counts in self._processes.values())

    def progress(self) -> dict[str, Any]:
        """Return the `progress` object.

        What a collector cannot know is not in it: peaks, retries, ignored failures.
        """
        total: Counter[str] = Counter()
        for counts in self._processes.values():
            total.update(counts)
        details = [
            {"index": index, "name": name, **_figures(counts), "terminated": False}
            for index, (name, counts) in enumerate(self._processes.items())
        ]
        return {**_figures(total), "processes": details}

    def _count(self, entry: Entry, sign: int) -> None:
        counts = self._processes.setdefault(entry.process, Counter())
        counts[entry.status] += sign
        if entry.status == "RUNNING":
            counts["cpus"] += sign * entry.cpus
            counts["memory"] += sign * entry.memory


def metrics_of(entries: Mapping[str, Entry]) -> list[dict[str, Any]]:
    """Return `complete.metrics` of all tasks that have ended."""
    metrics = RunMetrics()
    for entry in entries.values():
        if entry.is_terminal:
            metrics.add(entry.process, entry.name or f"task {entry.task_id}", entry.values)
    return metrics.summary()


def _figures(counts: Mapping[str, int]) -> dict[str, int]:
    figures = {name: counts.get(status, 0) for name, status in _COUNTERS.items()}
    return {**figures, "loadCpus": counts.get("cpus", 0), "loadMemory": counts.get("memory", 0)}
