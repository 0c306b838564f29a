"""Running tasks, each in its own work directory, each wrapped by gpu-probe."""

from collector.executors.base import Executor, Resources, StagedInput, Task, TaskResult
from collector.executors.directory import METADATA_NAMES, new_work_directory, task_digest
from collector.executors.local import LocalExecutor
from collector.executors.wrap import WRAPPER_VARIABLE, find_wrapper, wrap_command

__all__ = [
    "METADATA_NAMES",
    "WRAPPER_VARIABLE",
    "Executor",
    "LocalExecutor",
    "Resources",
    "StagedInput",
    "Task",
    "TaskResult",
    "find_wrapper",
    "new_work_directory",
    "task_digest",
    "wrap_command",
]
