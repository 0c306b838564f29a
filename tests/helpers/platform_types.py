"""What the public API description says of a request, as checks: the strict side of the double."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[object], bool]

_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
)  # RFC 3339: with seconds
_STATUSES = {"NEW", "SUBMITTED", "RUNNING", "CACHED", "COMPLETED", "FAILED", "ABORTED"}


def integer(bits: int) -> Check:
    def check(value: object) -> bool:
        return type(value) is int and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)

    return check


def text(limit: int | None = None) -> Check:
    def check(value: object) -> bool:
        return isinstance(value, str) and (
            limit is None or len(value.encode("utf-16-le")) <= 2 * limit
        )

    return check


def number(value: object) -> bool:
    return type(value) in (int, float)


def boolean(value: object) -> bool:
    return isinstance(value, bool)


def date_time(value: object) -> bool:
    return isinstance(value, str) and _DATE_TIME.fullmatch(value) is not None


def anything(_value: object) -> bool:
    return True


def strings(limit: int) -> Check:
    return lambda value: isinstance(value, list) and all(map(text(limit), value))


def shape(keys: Mapping[str, Check], *, required: tuple[str, ...] = ()) -> Check:
    """An object: known keys are checked, unknown ones are allowed, and nothing may be null."""

    def check(value: object) -> bool:
        return problem(value, keys, required) is None

    return check


def problem(value: object, keys: Mapping[str, Check], required: tuple[str, ...]) -> str | None:
    """Say what is wrong with an object."""
    if not isinstance(value, dict):
        return f"not an object but {type(value).__name__}"
    for name in required:
        if name not in value:
            return f"{name} is missing"
    for name, item in value.items():
        if name in keys and not keys[name](item):
            return f"{name} is {item!r:.80}"
    return None


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


GPU: Mapping[str, Check] = {
    **dict.fromkeys(("active_time", "mem", "avg_mem", "peak_mem_used"), integer(64)),
    **dict.fromkeys(("pct", "peak", "pct_mem", "peak_mem"), number),
    **dict.fromkeys(("avg_mem_bw_util", "peak_mem_bw_util"), number),
    **dict.fromkeys(("name", "driver"), text()),
}

TASK: Mapping[str, Check] = {
    "taskId": integer(64),
    "status": lambda value: value in _STATUSES,
    **dict.fromkeys(("attempt", "cpus", "exit", "numSpotInterruptions"), integer(32)),
    **dict.fromkeys(
        [
            "disk",
            "duration",
            "invCtxt",
            "memory",
            "peakRss",
            "peakVmem",
            "rchar",
            "readBytes",
            "realtime",
            "rss",
            "syscr",
            "syscw",
            "time",
            "vmem",
            "volCtxt",
            "wchar",
            "writeBytes",
        ],
        integer(64),
    ),
    **dict.fromkeys(("pcpu", "pmem"), number),
    **dict.fromkeys(("submit", "start", "complete"), date_time),
    "module": strings(255),
    "gpuMetrics": shape(GPU),
    "env": text(2048),
    "script": text(10240),
    "hash": text(34),
    **dict.fromkeys(("name", "process", "tag", "container", "scratch"), text(255)),
    "workdir": text(512),
    **dict.fromkeys(("queue", "nativeId"), text(100)),
    "errorAction": text(10),
    "executor": text(25),
    "resourceAllocation": shape(
        {
            "acceleratorCount": integer(32),
            "acceleratorType": text(),
            "cpuShares": integer(32),
            "memoryMiB": integer(32),
        }
    ),
}
TASK_REQUIRED = ("taskId", "status")

WORKFLOW: Mapping[str, Check] = {
    "id": text(16),
    "runName": text(80),
    "sessionId": text(36),
    "commandLine": text(8096),
    "projectName": text(100),
    "userName": text(40),
    "workDir": text(255),
    **dict.fromkeys(("submit", "start", "complete"), date_time),
    "duration": integer(64),
    "success": boolean,
    "exitStatus": integer(32),
}
WORKFLOW_REQUIRED = (
    "commandLine",
    "projectName",
    "runName",
    "sessionId",
    "submit",
    "userName",
    "workDir",
)

_COUNTERS = dict.fromkeys(
    [
        "pending",
        "submitted",
        "running",
        "succeeded",
        "failed",
        "ignored",
        "cached",
        "aborted",
        "stored",
        "retries",
        "loadCpus",
        "loadMemory",
        "peakRunning",
        "peakCpus",
        "peakMemory",
    ],
    integer(64),
)
PROGRESS = shape(
    {
        **_COUNTERS,
        "processes": list_of(
            shape({**_COUNTERS, "index": integer(32), "name": text(255), "terminated": boolean})
        ),
    }
)

_RESOURCE = shape(
    {
        **dict.fromkeys(("mean", "min", "q1", "q2", "q3", "max"), number),
        **dict.fromkeys(("minLabel", "q1Label", "q2Label", "q3Label", "maxLabel"), text(255)),
    }
)
METRICS = shape(
    {
        "process": text(255),
        **dict.fromkeys(
            [
                "cpu",
                "mem",
                "vmem",
                "time",
                "reads",
                "writes",
                "cpuUsage",
                "memUsage",
                "timeUsage",
                "gpuUsage",
                "gpuMemPeak",
                "gpuMemAvg",
            ],
            _RESOURCE,
        ),
    },
    required=("process",),
)
REQUESTS: Mapping[str, tuple[Mapping[str, Check], tuple[str, ...]]] = {
    "create": (
        {"sessionId": text(36), "runName": text(80), "projectName": text(200), "instant": number},
        (),
    ),
    "begin": (
        {
            "workflow": shape(WORKFLOW, required=WORKFLOW_REQUIRED),
            "processNames": strings(255),
            "towerLaunch": boolean,
        },
        ("workflow",),
    ),
    "progress": (
        {
            "tasks": list_of(shape(TASK, required=TASK_REQUIRED)),
            "progress": PROGRESS,
            "containers": list_of(anything),
        },
        (),
    ),
    "heartbeat": ({"progress": PROGRESS}, ()),
    "complete": (
        {
            "workflow": shape(WORKFLOW, required=WORKFLOW_REQUIRED),
            "metrics": list_of(METRICS),
            "progress": PROGRESS,
        },
        ("workflow",),
    ),
}


def violation(call: str, body: dict[str, Any]) -> str | None:
    """Say why the public API would refuse a body; `None` if it would not."""
    keys, required = REQUESTS[call]
    return problem(body, keys, required)
