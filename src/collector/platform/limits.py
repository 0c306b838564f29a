"""How long the strings of a request may be; longer ones are cut, as Nextflow's client does."""

from collections.abc import Mapping
from typing import Any

__all__ = ["LIMITS", "cut", "truncate"]

# Keys of one path; list levels add nothing to it. In UTF-16 units, which Java counts.
_LABELLED = ("cpu", "mem", "vmem", "time", "reads", "writes", "cpuUsage", "memUsage", "timeUsage")
LIMITS: Mapping[str, int] = {
    "workflow.id": 16,
    "workflow.projectDir": 255,
    "workflow.profile": 100,
    "workflow.homeDir": 255,
    "workflow.workDir": 255,
    "workflow.container": 255,
    "workflow.commitId": 40,
    "workflow.errorMessage": 255,
    "workflow.repository": 255,
    "workflow.containerEngine": 255,
    "workflow.scriptFile": 255,
    "workflow.userName": 40,
    "workflow.launchDir": 255,
    "workflow.runName": 80,
    "workflow.sessionId": 36,
    "workflow.scriptId": 40,
    "workflow.revision": 100,
    "workflow.nextflow.version": 20,
    "workflow.nextflow.build": 10,
    "workflow.projectName": 100,
    "workflow.scriptName": 100,
    "workflow.operationId": 110,
    "workflow.outFile": 255,
    "workflow.logFile": 255,
    "workflow.manifest.nextflowVersion": 20,
    "workflow.manifest.defaultBranch": 20,
    "workflow.manifest.version": 20,
    "workflow.manifest.homePage": 200,
    "workflow.manifest.description": 1024,
    "workflow.manifest.name": 150,
    "workflow.manifest.mainScript": 100,
    "workflow.manifest.author": 150,
    "workflow.manifest.gitmodules": 150,
    "workflow.manifest.doi": 100,
    "workflow.stats.computeTimeFmt": 50,
    # Not in Nextflow's table, but in the public API description.
    "workflow.commandLine": 8096,
    "processNames": 255,
    "tasks.env": 2048,
    "tasks.script": 10240,
    "tasks.status": 10,
    "tasks.hash": 34,
    "tasks.name": 255,
    "tasks.process": 255,
    "tasks.tag": 255,
    "tasks.container": 255,
    "tasks.scratch": 255,
    "tasks.workdir": 512,
    "tasks.queue": 100,
    "tasks.errorAction": 10,
    "tasks.nativeId": 100,
    "tasks.module": 255,
    "tasks.executor": 25,
    "tasks.machineType": 25,
    "tasks.cloudZone": 25,
    "tasks.priceModel": 15,
    "progress.name": 255,
    "metrics.process": 255,
    **{
        f"metrics.{series}.{end}Label": 255
        for series in _LABELLED
        for end in ("min", "max", "q1", "q2", "q3")
    },
}


def truncate(value: Any, path: str = "", limits: Mapping[str, int] = LIMITS) -> Any:  # noqa: ANN401
    """Return a JSON value whose strings keep the limits of their paths; the rest is untouched."""
    if isinstance(value, str):
        return cut(value, limits[path]) if path in limits else value
    if isinstance(value, list):
        return [truncate(item, path, limits) for item in value]
    if isinstance(value, dict):
        return {
            key: truncate(item, f"{path}.{key}" if path else key, limits)
            for key, item in value.items()
        }
    return value


def cut(text: str, limit: int) -> str:
    """Keep the first `limit` UTF-16 units of a text, and no half of a character."""
    if len(text) * 2 <= limit:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return units[: 2 * limit].decode("utf-16-le", "ignore") if len(units) > 2 * limit else text
