"""What a task leaves in its work directory: bytes in, values out; what is absent is `None`."""

from collector.trace.command_run import COMMAND_RUN_FILE, read_task_name
from collector.trace.command_trace import parse_command_trace, read_command_trace
from collector.trace.exit_file import EXIT_FILE, read_exit_status, write_exit_status
from collector.trace.folding import fold_traces, merge_traces
from collector.trace.fusion import BESIDE_FILE, TRACE_FILE, Trace, parse_trace, read_trace
from collector.trace.metrics import metrics_of
from collector.trace.nextflow_trace import NextflowTrace, process_of, read_nextflow_trace
from collector.trace.numbers import counter
from collector.trace.task_file import TASK_FILE, TaskFile, encode_task_file, read_task_file

__all__ = [
    "BESIDE_FILE",
    "COMMAND_RUN_FILE",
    "EXIT_FILE",
    "TASK_FILE",
    "TRACE_FILE",
    "NextflowTrace",
    "TaskFile",
    "Trace",
    "counter",
    "encode_task_file",
    "fold_traces",
    "merge_traces",
    "metrics_of",
    "parse_command_trace",
    "parse_trace",
    "process_of",
    "read_command_trace",
    "read_exit_status",
    "read_nextflow_trace",
    "read_task_file",
    "read_task_name",
    "read_trace",
    "write_exit_status",
]
