"""Finished task directories in, records out."""

from collector.collect.assembly import collect_task
from collector.collect.directories import find_task_directories
from collector.collect.liveness import Host, local_host
from collector.collect.options import CollectOptions, FusionMode, MetricsSource
from collector.collect.tree import collect_directories, stream_directories
from collector.collect.watch import TaskKey, Watch, task_key

__all__ = [
    "CollectOptions",
    "FusionMode",
    "Host",
    "MetricsSource",
    "TaskKey",
    "Watch",
    "collect_directories",
    "collect_task",
    "find_task_directories",
    "local_host",
    "stream_directories",
    "task_key",
]
