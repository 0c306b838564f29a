"""The bodies of the five calls. Keys whose values are not known are left out."""

import getpass
from collections.abc import Mapping, Sequence
from typing import Any

from collector.platform.limits import truncate
from collector.platform.payload import instant
from collector.platform.spool import RunState
from collector.platform.tally import Tally

__all__ = [
    "begin_request",
    "complete_request",
    "create_request",
    "heartbeat_request",
    "progress_request",
]

_PROJECT = "gpu-bench"


def create_request(run: RunState, moment_ms: int) -> dict[str, Any]:
    """Return the body that registers a run."""
    return {
        "sessionId": run.session_id,
        "runName": run.name,
        "projectName": _PROJECT,
        "instant": moment_ms,
    }


def begin_request(run: RunState, processes: Sequence[str]) -> dict[str, Any]:
    """Return the body that begins a run."""
    body = {
        "workflow": _workflow(run),
        "processNames": list(processes),
        "towerLaunch": False,
    }
    return _cut(body)


def progress_request(
    tasks: Sequence[Mapping[str, Any]], progress: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the body that brings up to 100 tasks."""
    return _cut({"tasks": list(tasks), "progress": dict(progress), "containers": []})


def heartbeat_request(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body that says only that the run goes on."""
    return _cut({"progress": dict(progress)})


def complete_request(
    run: RunState, tally: Tally, metrics: Sequence[Mapping[str, Any]], moment_ms: int
) -> dict[str, Any]:
    """Return the body that ends a run; it succeeded if all of its tasks did."""
    start_ms, end_ms = _start_ms(run), run.end_ms or moment_ms
    workflow = {
        **_workflow(run),
        "complete": instant(max(start_ms, end_ms)),
        "duration": max(0, end_ms - start_ms),
        "success": tally.failures == 0,
        "exitStatus": int(tally.failures > 0),
    }
    body = {"workflow": workflow, "metrics": list(metrics), "progress": tally.progress()}
    return _cut(body)


def _workflow(run: RunState) -> dict[str, Any]:
    start = instant(_start_ms(run))
    workflow = {
        "id": run.workflow_id,
        "runName": run.name,
        "sessionId": run.session_id,
        "projectName": _PROJECT,
        "commandLine": run.command_line,
        "workDir": run.work_dir,
        "userName": _user_name(),
        "submit": start,
        "start": start,
    }
    return {key: value for key, value in workflow.items() if value is not None}


def _start_ms(run: RunState) -> int:
    return run.start_ms or run.registered_ms


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user id without a name, as in containers
        return "unknown"


def _cut(body: dict[str, Any]) -> dict[str, Any]:
    cut_body: dict[str, Any] = truncate(body)
    return cut_body
