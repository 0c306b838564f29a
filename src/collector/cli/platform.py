"""`gpu-bench collect --platform` and `gpu-bench send`: records to Seqera Platform."""

import contextlib
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path

from collector.cli.arguments import UsageError
from collector.cli.output import write_output
from collector.errors import PlatformUnreached, SinkRejected
from collector.platform import (
    DEFAULT_ENDPOINT,
    Outcome,
    PlatformSink,
    RetryPolicy,
    RunState,
    Settings,
    Spool,
    default_run_name,
    dry_run,
    new_run,
    read_settings,
    send_spool,
)
from collector.record import TraceRecord

__all__ = ["execute_platform", "execute_send"]

_SPOOLS = Path(".gpu-bench")


def execute_platform(arguments: Namespace, collect: Callable[[], Iterable[TraceRecord]]) -> int:
    """Send what `collect` returns to a run of its own, and return 0 if it is sent or kept."""
    if arguments.to is not None:
        raise UsageError("--to and --platform: one at a time; collecting twice gives the same")
    if arguments.dry_run:
        settings = Settings(endpoint=DEFAULT_ENDPOINT, token="", workspace_id=None)
        for line in dry_run(_run(arguments, settings), collect(), include=arguments.include):
            write_output(line)
        return 0
    settings = read_settings(os.environ)
    if settings.is_clear_text:
        _say(f"warning: {settings.endpoint} is not encrypted: the access token can be read")
    run = _run(arguments, settings)
    directory = arguments.spool or _SPOOLS / run.name
    with contextlib.closing(Spool.open(directory, secret=settings.token, new=run)) as spool:
        if spool.run.name != run.name:
            raise SinkRejected(f"{directory} is the spool of {spool.run.name}: use another --spool")
        is_new = spool.run.workflow_id is None
        sink = PlatformSink(
            spool, settings, policy=_policy(arguments), include=frozenset(arguments.include)
        )
        if is_new and sink.run.workflow_id is not None:
            _say(f"registered {run.name}: a run of its own, as a finished run cannot be added to")
        try:
            sink.write(collect())
            outcome = sink.finish()
        except KeyboardInterrupt as interrupt:
            step = f"run gpu-bench send {directory}" if sink.run.collected else "collect again"
            interrupt.message = (  # type: ignore[attr-defined]  # read where it is reported
                f"interrupted; what was not sent is kept in {directory}: {step}"
            )
            raise
        return _report(outcome, directory)


def execute_send(arguments: Namespace) -> int:
    """Send what a spool holds and return 0 if nothing is left to do for its run."""
    settings = read_settings(os.environ)
    outcome = send_spool(arguments.spool, settings, policy=_policy(arguments))
    _say_sent(outcome)
    if not (outcome.run.collected or outcome.run.completed):
        raise SinkRejected(
            f"the run {outcome.run.name} is not ended, as its collection was interrupted: collect"
            " again, which adds the rest"
        )
    return 0


def _run(arguments: Namespace, settings: Settings) -> RunState:
    directories = [Path(place) for place in arguments.directories]
    name = arguments.name or default_run_name(directories[0])
    if "/" in name or not name.isprintable() or name.startswith("."):
        raise UsageError(f"--name {name!r}: no slash, no dot at the start, nothing unprintable")
    command = ["gpu-bench", "collect", "--platform", *map(str, arguments.directories)]
    return new_run(name, settings, command=command, directories=directories)


def _policy(arguments: Namespace) -> RetryPolicy:
    if arguments.patience is None:
        return RetryPolicy()
    if not 0 <= arguments.patience < 1_000_000:
        raise UsageError(f"--patience {arguments.patience}: must be a number of seconds from 0")
    return RetryPolicy(patience_s=arguments.patience)


def _report(outcome: Outcome, directory: Path) -> int:
    if outcome.mock:
        verb = "task was" if outcome.mock == 1 else "tasks were"
        _say(f"{outcome.mock} {verb} measured on the mock driver, and not sent")
        if not (outcome.sent or outcome.known or outcome.kept):
            raise SinkRejected("nothing to send: traces of the mock driver are refused")
    if outcome.sent or outcome.failure is None:
        _say_sent(outcome)
    if outcome.failure is None:
        return 0
    kept = {0: "the end of the run is", 1: "1 task is"}.get(
        outcome.kept, f"{outcome.kept} tasks are"
    )
    later = f"{kept} kept in {directory}; send later with: gpu-bench send {directory}"
    if outcome.was_refused:
        raise PlatformUnreached(later)
    _say(later)
    return 0


def _say_sent(outcome: Outcome) -> None:
    known = f", {outcome.known} were there already" if outcome.known else ""
    place = f": {outcome.run.watch_url}" if outcome.run.watch_url else ""
    noun = "task" if outcome.sent == 1 else "tasks"
    _say(f"{outcome.sent} {noun} sent to {outcome.run.name}{known}{place}")


def _say(message: str) -> None:
    print(f"gpu-bench: {message}", file=sys.stderr)
