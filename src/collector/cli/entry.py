"""The entry point: the only place that turns errors into exit statuses."""

import contextlib
import logging
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from collector.cli.arguments import UsageError, parse_arguments
from collector.cli.output import abandon_output
from collector.errors import CollectorError

__all__ = ["main"]

_OWN_ERROR = 125
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run `gpu-bench` with the given words (default: those of the process); return its status.

    125 is an error of gpu-bench itself, 130 an interrupt (128+n for another ending signal n).
    """
    try:
        arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
        with _logging(verbose=getattr(arguments, "verbose", False)):
            return _execute(arguments)
    except (UsageError, CollectorError) as error:
        _say(f"error: {error}")
    except KeyboardInterrupt as interrupt:
        _say(getattr(interrupt, "message", "interrupted; nothing was written"))
        return getattr(interrupt, "exit_status", _INTERRUPTED)
    except BrokenPipeError:
        abandon_output()  # the reader has gone
    except Exception as error:
        logging.getLogger(__name__).debug("the error in full", exc_info=True)
        _say(f"error: unexpected {type(error).__name__}: {error}")
    return _OWN_ERROR


def _execute(arguments: Namespace) -> int:
    # The subcommands are imported here so that --help and --version need not wait for them.
    if arguments.version:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"gpu-bench {version('gpu-probe')}")
        return 0
    if arguments.subcommand == "run":
        from collector.cli.run import execute_run  # noqa: PLC0415

        return execute_run(arguments)
    if arguments.subcommand == "collect":
        from collector.cli.collect import execute_collect  # noqa: PLC0415

        return execute_collect(arguments)
    if arguments.subcommand == "send":
        from collector.cli.platform import execute_send  # noqa: PLC0415

        return execute_send(arguments)
    raise UsageError("no subcommand: run, collect or send (see gpu-bench --help)")


@contextlib.contextmanager
def _logging(*, verbose: bool) -> Iterator[None]:
    """Show the package's log on standard error, one line a message."""
    handler = logging.StreamHandler()
    handler.setFormatter(_LogFormatter())
    logger = logging.getLogger("collector")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _LogFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"gpu-bench: {record.levelname.lower()}: {super().format(record)}"


def _say(message: str) -> None:
    print(f"gpu-bench: {message}", file=sys.stderr)
