"""Benchmarks: N independent executions of one command, one file of figures."""

from collector.benchmark.columns import COLUMNS, benchmark_row
from collector.benchmark.directive import Benchmark, FileFormat
from collector.benchmark.emission import Emission, check_patterns, emit_outputs
from collector.benchmark.runner import Command, Launch, Repeat, run_benchmark
from collector.benchmark.staging import Staging, plan_staging

__all__ = [
    "COLUMNS",
    "Benchmark",
    "Command",
    "Emission",
    "FileFormat",
    "Launch",
    "Repeat",
    "Staging",
    "benchmark_row",
    "check_patterns",
    "emit_outputs",
    "plan_staging",
    "run_benchmark",
]
