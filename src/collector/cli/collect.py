"""`gpu-bench collect`: task directories in, records out."""

import itertools
import math
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from collector.cli.arguments import UsageError
from collector.cli.output import write_output
from collector.collect import CollectOptions, Watch, stream_directories
from collector.errors import SinkRejected
from collector.record import TraceRecord, record_order
from collector.sinks import (
    JsonlSink,
    Sink,
    TsvSink,
    check_target,
    ordered_jsonl,
    parse_columns,
)
from collector.trace import NextflowTrace, read_nextflow_trace

__all__ = ["execute_collect"]

_LINES_AT_ONCE = 256


def execute_collect(arguments: Namespace) -> int:
    """Collect, write, and return 0; finding no task directory is no error."""
    _check(arguments)
    options = CollectOptions(
        fusion=arguments.fusion,
        metrics_from=arguments.metrics_from,
        environment=os.environ,
        patience_s=arguments.directory_timeout,
    )
    if arguments.platform or arguments.dry_run:
        from collector.cli.platform import execute_platform  # noqa: PLC0415 - it is slow to import

        return execute_platform(arguments, lambda: _in_order(arguments, options))
    for name in ("name", "spool", "include", "patience"):
        if getattr(arguments, name):
            raise UsageError(f"--{name} is about --platform, which is not given")
    sink = _sink(arguments)
    if arguments.watch:
        return _watch(arguments, options)
    records = _stream(arguments, options)
    if sink is None:
        with ordered_jsonl(records) as lines:
            _print(lines)
            _say_if_none(len(lines), arguments)
        return 0
    count = sink.write(records)
    _say_if_none(count, arguments)
    _say(f"{count} {'record' if count == 1 else 'records'} written to {arguments.to}")
    return 0


def _stream(arguments: Namespace, options: CollectOptions) -> Iterator[TraceRecord]:
    if arguments.nextflow_trace is not None:
        run = read_nextflow_trace(arguments.nextflow_trace)
        options = replace(options, nextflow_trace=run)
    return stream_directories(arguments.directories, options)


def _in_order(arguments: Namespace, options: CollectOptions) -> list[TraceRecord]:
    records = sorted(_stream(arguments, options), key=record_order)
    _say_if_none(len(records), arguments)
    return records


def _say_if_none(count: int, arguments: Namespace) -> None:
    if count == 0:
        places = ", ".join(str(directory) for directory in arguments.directories)
        _say(f"no task directory found at or below {places}")


def _check(arguments: Namespace) -> None:
    timeout_s = arguments.directory_timeout
    if not 0 < timeout_s < math.inf:
        raise UsageError(f"--directory-timeout {timeout_s}: name a number of seconds above 0")
    if not arguments.watch and (arguments.until_idle, arguments.until_exit) != (None, None):
        raise UsageError("--until-idle and --until-exit say when --watch ends: name that too")
    if (arguments.platform or arguments.dry_run) and arguments.watch:
        raise UsageError("--watch and --platform: one at a time; collect when all has ended")


def _sink(arguments: Namespace) -> Sink | None:
    path: Path | None = arguments.to
    suffix = "" if path is None else path.suffix.lower()
    if (arguments.fields or arguments.raw) and suffix != ".tsv":
        raise UsageError("--fields and --raw are about a .tsv file: name one with --to")
    if arguments.raw and not arguments.fields:
        raise UsageError("--raw needs --fields; without it, values are raw")
    if path is None:
        return None
    if suffix not in (".jsonl", ".tsv"):
        raise UsageError(f"--to {path}: name a file that ends in .jsonl or .tsv")
    check_target(path)
    if suffix == ".jsonl":
        return JsonlSink(path=path)
    columns = parse_columns(arguments.fields, raw=arguments.raw) if arguments.fields else None
    return TsvSink(path=path, columns=columns)


def _watch(arguments: Namespace, options: CollectOptions) -> int:
    from collector.cli.watch import execute_watch  # noqa: PLC0415 - few need it

    path: Path | None = arguments.to
    if path is not None and path.suffix.lower() != ".jsonl":
        raise UsageError("--watch writes JSON lines: name a .jsonl file with --to, or none")
    if any(isinstance(place, str) for place in arguments.directories):
        raise UsageError("--watch follows directories; a URL can be collected when all has ended")
    watch = Watch(
        roots=arguments.directories,
        options=lambda: _with_trace(options, arguments.nextflow_trace),
        idle_s=arguments.until_idle,
    )
    return execute_watch(watch, path, until_exit=arguments.until_exit)


def _with_trace(options: CollectOptions, path: Path | None) -> CollectOptions:
    """Read the run's `trace.txt` anew; before it is there, no task is in it."""
    if path is None:
        return options
    run = read_nextflow_trace(path) if path.exists() else NextflowTrace([], {})
    return replace(options, nextflow_trace=run)


def _print(lines: Iterable[bytes]) -> None:
    waiting = iter(lines)
    try:
        while some := b"".join(itertools.islice(waiting, _LINES_AT_ONCE)):
            write_output(some)
    except BrokenPipeError:
        raise  # who closes a pipe early knows it
    except OSError as error:
        reason = error.strerror or error
        raise SinkRejected(f"standard output cannot be written: {reason}") from error


def _say(message: str) -> None:
    print(f"gpu-bench: {message}", file=sys.stderr)
