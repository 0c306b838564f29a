"""Finished task directories in, records out."""

from collector.collect.assembly import collect_directories, collect_task
from collector.collect.directories import find_task_directories
from collector.collect.liveness import Host, local_host
from collector.collect.options import CollectOptions, FusionMode, MetricsSource

__all__ = [
    "CollectOptions",
    "FusionMode",
    "Host",
    "MetricsSource",
    "collect_directories",
    "collect_task",
    "find_task_directories",
    "local_host",
]
