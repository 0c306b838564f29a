"""Collect what tasks have used: traces in, Nextflow-compatible records and benchmark files out.

The names below are imported when they are first used, so that the command line starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collector.benchmark import Benchmark, run_benchmark
    from collector.collect import CollectOptions, collect_directories, collect_task
    from collector.errors import CollectorError
    from collector.executors import LocalExecutor
    from collector.record import FIELDS, TraceRecord
    from collector.sinks import JsonlSink, TsvSink
    from collector.trace import read_trace

__all__ = [
    "FIELDS",
    "Benchmark",
    "CollectOptions",
    "CollectorError",
    "JsonlSink",
    "LocalExecutor",
    "TraceRecord",
    "TsvSink",
    "collect_directories",
    "collect_task",
    "read_trace",
    "run_benchmark",
]

_HOMES = {
    "FIELDS": "record",
    "Benchmark": "benchmark",
    "CollectOptions": "collect",
    "CollectorError": "errors",
    "JsonlSink": "sinks",
    "LocalExecutor": "executors",
    "TraceRecord": "record",
    "TsvSink": "sinks",
    "collect_directories": "collect",
    "collect_task": "collect",
    "read_trace": "trace",
    "run_benchmark": "benchmark",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
