"""The status of a task, from its `.exitcode` or, without one, from its trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from collector.collect.liveness import Host, writer_is_gone
from collector.trace import counter

__all__ = ["Outcome", "TaskStatus", "outcome_of"]

TaskStatus: TypeAlias = Literal["COMPLETED", "FAILED", "ABORTED", "RUNNING"]

_SIGNAL_BASE = 128
_LARGEST_STATUS = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task stands: its status and exit status; `None` where nothing tells."""

    status: TaskStatus | None = None
    exit_status: int | None = None


def outcome_of(exit_status: int | None, probe: Mapping[str, Any] | None, *, host: Host) -> Outcome:
    """Combine the number of `.exitcode` and the trace's probe block."""
    if exit_status is not None:
        return _ended(exit_status)
    state = (probe or {}).get("state")
    if probe is None or state not in ("running", "final"):
        return Outcome()
    if state == "running":
        return Outcome(status="ABORTED" if writer_is_gone(probe, host) else "RUNNING")
    signal, status = probe.get("signal"), probe.get("exit")
    if signal is not None:
        return _ended_within(signal, _SIGNAL_BASE)
    return Outcome(status="COMPLETED") if status is None else _ended_within(status, 0)


def _ended_within(stated: object, base: int) -> Outcome:
    """Take a number of the trace, added to `base`; what no process can end with tells nothing."""
    number = counter(stated)
    if number is None or base + number > _LARGEST_STATUS:
        return Outcome()
    return _ended(base + number)


def _ended(exit_status: int) -> Outcome:
    return Outcome(status="FAILED" if exit_status else "COMPLETED", exit_status=exit_status)
