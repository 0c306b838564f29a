"""The names and types of the fields, in Nextflow's order. This table is the format's only copy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

__all__ = ["FIELDS", "GPU_KEYS", "FieldType", "FieldValue"]

FieldType: TypeAlias = Literal["str", "num", "date", "time", "mem", "perc"]
FieldValue: TypeAlias = str | int | float | None

# `date`: ms since 1970. `time`: ms. `mem`: bytes. `perc`: percent.
FIELDS: Mapping[str, FieldType] = MappingProxyType(
    {
        "task_id": "str",
        "hash": "str",
        "native_id": "str",
        "process": "str",
        "module": "str",
        "container": "str",
        "tag": "str",
        "name": "str",
        "status": "str",
        "exit": "str",
        "submit": "date",
        "start": "date",
        "complete": "date",
        "duration": "time",
        "realtime": "time",
        "%cpu": "perc",
        "%mem": "perc",
        "rss": "mem",
        "vmem": "mem",
        "peak_rss": "mem",
        "peak_vmem": "mem",
        "rchar": "mem",
        "wchar": "mem",
        "syscr": "num",
        "syscw": "num",
        "read_bytes": "mem",
        "write_bytes": "mem",
        "attempt": "num",
        "workdir": "str",
        "script": "str",
        "scratch": "str",
        "queue": "str",
        "cpus": "num",
        "memory": "mem",
        "disk": "mem",
        "time": "time",
        "env": "str",
        "error_action": "str",
        "vol_ctxt": "num",
        "inv_ctxt": "num",
        "hostname": "str",
        "cpu_model": "str",
        "accelerator": "num",
        "accelerator_type": "str",
    }
)

# Fusion's twelve keys of the gpu block, in its order.
GPU_KEYS = (
    "name",
    "mem",
    "driver",
    "active_time",
    "pct",
    "peak",
    "pct_mem",
    "peak_mem",
    "avg_mem",
    "peak_mem_used",
    "avg_mem_bw_util",
    "peak_mem_bw_util",
)
