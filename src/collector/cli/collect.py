"""`gpu-bench collect`: task directories in, records out."""

import itertools
import os
import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from collector.cli.arguments import UsageError
from collector.cli.output import write_output
from collector.collect import CollectOptions, stream_directories
from collector.errors import SinkRejected
from collector.sinks import JsonlSink, Sink, TsvSink, check_target, ordered_jsonl

__all__ = ["execute_collect"]

_LINES_AT_ONCE = 256


def execute_collect(arguments: Namespace) -> int:
    """Collect, write, and return 0; finding no task directory is no error."""
    sink = _sink(arguments.to)
    options = CollectOptions(
        fusion=arguments.fusion,
        metrics_from=arguments.metrics_from,
        environment=os.environ,
    )
    records = stream_directories(arguments.directories, options)
    if sink is None:
        with ordered_jsonl(records) as lines:
            _print(lines)
            count = len(lines)
    else:
        count = sink.write(records)
    if count == 0:
        places = ", ".join(str(directory) for directory in arguments.directories)
        _say(f"no task directory found at or below {places}")
    if sink is not None:
        _say(f"{count} {'record' if count == 1 else 'records'} written to {arguments.to}")
    return 0


def _sink(path: Path | None) -> Sink | None:
    if path is None:
        return None
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".tsv"):
        raise UsageError(f"--to {path}: name a file that ends in .jsonl or .tsv")
    check_target(path)
    return JsonlSink(path=path) if suffix == ".jsonl" else TsvSink(path=path)


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
