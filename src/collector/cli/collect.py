"""`gpu-bench collect`: task directories in, records out."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from collector.cli.arguments import UsageError
from collector.cli.output import write_output
from collector.collect import CollectOptions, collect_directories
from collector.errors import SinkRejected
from collector.record import TraceRecord
from collector.sinks import JsonlSink, Sink, TsvSink, check_target, encode_jsonl, record_row

__all__ = ["execute_collect"]


def execute_collect(arguments: Namespace) -> int:
    """Collect, write, and return 0; finding no task directory is no error."""
    if arguments.platform or arguments.dry_run:
        from collector.cli.platform import execute_platform  # noqa: PLC0415 - it is slow to import

        return execute_platform(arguments, lambda: _collect(arguments))
    for name in ("name", "spool", "include", "patience"):
        if getattr(arguments, name):
            raise UsageError(f"--{name} is about --platform, which is not given")
    sink = _sink(arguments.to)
    records = _collect(arguments)
    if sink is None:
        _print(encode_jsonl(record_row(record) for record in records))
    else:
        count = sink.write(records)
        _say(f"{count} {'record' if count == 1 else 'records'} written to {arguments.to}")
    return 0


def _collect(arguments: Namespace) -> list[TraceRecord]:
    options = CollectOptions(
        fusion=arguments.fusion,
        metrics_from=arguments.metrics_from,
        environment=os.environ,
    )
    records = collect_directories(arguments.directories, options)
    if not records:
        places = ", ".join(str(directory) for directory in arguments.directories)
        _say(f"no task directory found at or below {places}")
    return records


def _sink(path: Path | None) -> Sink | None:
    if path is None:
        return None
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".tsv"):
        raise UsageError(f"--to {path}: name a file that ends in .jsonl or .tsv")
    check_target(path)
    return JsonlSink(path=path) if suffix == ".jsonl" else TsvSink(path=path)


def _print(lines: bytes) -> None:
    try:
        write_output(lines)
    except BrokenPipeError:
        raise  # who closes a pipe early knows it
    except OSError as error:
        reason = error.strerror or error
        raise SinkRejected(f"standard output cannot be written: {reason}") from error


def _say(message: str) -> None:
    print(f"gpu-bench: {message}", file=sys.stderr)
