"""Running tasks, each in its own work directory, each wrapped by gpu-probe."""

from collector.executors.base import Executor, Resources, StagedInput, Task, TaskResult
from collector.executors.directory import (
    METADATA_NAMES,
    check_work_root,
    new_work_directory,
    run_digest,
    task_digest,
)
from collector.executors.local import LocalExecutor
from collector.executors.wrap import WRAPPER_VARIABLE, find_wrapper, why_not_wrapped, wrap_command

__all__ = [
    "METADATA_NAMES",
    "WRAPPER_VARIABLE",
    "Executor",
    "LocalExecutor",
    "Resources",
    "StagedInput",
    "Task",
    "TaskResult",
    "check_work_root",
    "find_wrapper",
    "new_work_directory",
    "run_digest",
    "task_digest",
    "why_not_wrapped",
    "wrap_command",
]
