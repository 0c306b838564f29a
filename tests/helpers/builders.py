"""Traces, task directories and records with friendly defaults; name only what a test is about."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collector.record import FieldValue, TraceRecord

SAMPLE_TRACE = Path(__file__).parent.parent / "data" / "traces" / "sample-trace.json"
HASHED_PATH = "ab/cdef0123456789abcdef0123456789"


def proc_block(**values: object) -> dict[str, Any]:
    """A task of one second on one CPU; memory in KiB."""
    return {
        "realtime": 1000,
        "pct_cpu": 990,
        "cpu_name": "A CPU",
        "arch": "linux/amd64",
        "rchar": 100,
        "wchar": 200,
        "syscr": 3,
        "syscw": 4,
        "read_bytes": 4096,
        "write_bytes": 8192,
        "pct_mem": 56,
        "vmem": 2000,
        "rss": 1000,
        "peak_vmem": 2500,
        "peak_rss": 1500,
        "vol_ctxt": 5,
        "inv_ctxt": 6,
        **values,
    }


def gpu_block(**values: object) -> dict[str, Any]:
    return {
        "name": "Tesla T4",
        "mem": 16384,
        "driver": "580.126.09",
        "active_time": 600,
        "pct": 60,
        "peak": 80,
        "pct_mem": 24.4140625,
        "peak_mem": 24.4140625,
        "avg_mem": 4000,
        "peak_mem_used": 4096,
        "avg_mem_bw_util": 10,
        "peak_mem_bw_util": 20,
        **values,
    }


def cgroup_block(**values: object) -> dict[str, Any]:
    return {
        "version": "v2",
        "memory_current": 3_000_000,
        "memory_peak": 5_000_000,
        "memory_rss": 1_000_000,
        "memory_peak_rss": 4_000_000,
        "memory_limit": 8_000_000,
        **values,
    }


def probe_block(**values: object) -> dict[str, Any]:
    return {
        "schema": 1,
        "pid": 4711000,  # larger than any that the kernel gives
        "pid_start": 99,
        "hostname": "node1",
        "boot_id": "boot-1",
        "pid_ns": 1,
        "state": "final",
        "start_ms": 1_700_000_000_000,
        "written_ms": 1_700_000_001_500,
        "unavailable": [],
        "mock": False,
        "notes": [],
        **values,
    }


def trace(**blocks: object) -> dict[str, Any]:
    """A trace of proc, gpu and probe; a block given as `...` is left out."""
    stated = {"proc": proc_block(), "gpu": gpu_block(), "probe": probe_block(), **blocks}
    return {name: block for name, block in stated.items() if block is not ...}


def sample_trace() -> dict[str, Any]:
    """The published sample."""
    parsed: dict[str, Any] = json.loads(SAMPLE_TRACE.read_bytes())
    return parsed


def task_directory(
    directory: Path,
    *,
    task: Mapping[str, Any] | bytes | None = None,
    trace: Mapping[str, Any] | bytes | None = None,
    exit_code: int | bytes | None = None,
    command_trace: str | None = None,
) -> Path:
    """Create a task directory that holds what is named; bytes are written as they are."""
    directory.mkdir(parents=True, exist_ok=True)
    if task is not None:
        (directory / ".task.json").write_bytes(_encoded(task))
    if trace is not None:
        (directory / ".fusion").mkdir()
        (directory / ".fusion" / "trace.json").write_bytes(_encoded(trace))
    if exit_code is not None:
        text = exit_code if isinstance(exit_code, bytes) else str(exit_code).encode()
        (directory / ".exitcode").write_bytes(text)
    if command_trace is not None:
        (directory / ".command.trace").write_text(command_trace, encoding="utf-8")
    return directory


def record(
    fields: Mapping[str, FieldValue] | None = None,
    *,
    gpu: Mapping[str, Any] | None = None,
    probe: Mapping[str, Any] | None = None,
) -> TraceRecord:
    """A completed task."""
    built = TraceRecord({"task_id": "1", "status": "COMPLETED", "exit": 0, **(fields or {})})
    built.gpu_metrics = gpu
    built.probe = probe
    return built


def _encoded(content: Mapping[str, Any] | bytes) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()
