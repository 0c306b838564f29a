"""The command line of `gpu-bench`, as data. Nothing here is slow to import: `--help` is instant."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from collector.cli.collect_arguments import add_source_options, place
from collector.cli.platform_arguments import (
    SEND_DESCRIPTION,
    add_platform_options,
    add_send_options,
)

__all__ = ["UsageError", "parse_arguments"]

_DASHES = "--"
_HELP = frozenset({"-h", "--help"})
_RUN_USAGE = "gpu-bench run --file FILE [options] -- COMMAND [ARG...]"


class UsageError(Exception):
    """The command line cannot be understood."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of exiting with argparse's own status."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def check_words(self, words: Sequence[str]) -> None:
        """Find what argparse reports poorly: an unknown option, and a command without dashes.

        Only the first mistake is looked for; what comes after another one is left to argparse.
        """
        takes_words = any(not action.option_strings for action in self._actions)
        remaining = list(words)
        while remaining and remaining[0] != _DASHES:
            word = remaining.pop(0)
            name, equals, _ = word.partition("=")
            if not word.startswith("-"):
                if not takes_words:
                    raise UsageError(f"{word}: the command comes after -- (usage: {_RUN_USAGE})")
                continue
            action = self._option_string_actions.get(name)
            if action is None:
                self.error(f"{name}: no such option{self._nearest(name)}")
            if name in _HELP:
                return
            if action.nargs is None and not equals:
                if not remaining or remaining[0].startswith(_DASHES):
                    return
                del remaining[0]

    def _nearest(self, name: str) -> str:
        import difflib  # noqa: PLC0415 - only a mistake needs it

        near = difflib.get_close_matches(name, self._option_string_actions, n=1)
        return f"; did you mean {near[0]}?" if near else ""


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the words after the program's name.

    The result's `subcommand` is `run`, `collect`, `send` or `None`; `command` are the words after
    `--`.

    Raises:
        UsageError: the words make no sense.
        SystemExit: help was asked for and printed; the status is 0.
    """
    command: list[str] = []
    if words and words[0] == "run" and "--" in words:
        split = list(words).index("--")
        words, command = words[:split], list(words[split + 1 :])
    parser, subparsers = _parsers()
    if words and words[0] in subparsers:
        subparsers[words[0]].check_words(words[1:])
    if words and words[0] == "run" and not command and _HELP.isdisjoint(words):
        raise UsageError(f"no command to run; it comes after -- (usage: {_RUN_USAGE})")
    parsed = parser.parse_args(words)
    parsed.command = command
    return parsed


def _parsers() -> tuple[argparse.ArgumentParser, Mapping[str, _Parser]]:
    parser = _Parser(
        prog="gpu-bench",
        description="Benchmark GPU tasks, and collect what tasks have used.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subcommands = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND")
    _add_run(subcommands)
    _add_collect(subcommands)
    _add_send(subcommands)
    return parser, subcommands.choices


def _add_run(subcommands: "argparse._SubParsersAction[_Parser]") -> None:
    run = subcommands.add_parser(
        "run",
        help="run a command N times and write one file of figures",
        usage=_RUN_USAGE,
        description=(
            "Run a command N times, one after another, each time in a directory of its own below"
            " the work directory and under gpu-probe; then write one file with a row a repeat."
            " Files of the current directory that the arguments name are linked into these"
            " directories."
        ),
        epilog=(
            "Exit status: 0 if every repeat succeeded, else that of the first one that failed; 125"
            " for errors of gpu-bench itself."
        ),
        allow_abbrev=False,
    )
    run.add_argument(
        "--file", type=Path, required=True, help="benchmark file; .tsv or .jsonl decides the format"
    )
    run.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="executions to run (default: 1)"
    )
    run.add_argument("--name", metavar="P", help="process name (default: name of the command)")
    run.add_argument("--tag", metavar="T", help="tag of the task, such as a sample (default: none)")
    run.add_argument(
        "--work-dir",
        type=Path,
        default=Path("work"),
        metavar="W",
        help="directory of the work directories (default: work)",
    )
    _add_run_files(run)
    run.add_argument(
        "--ignore-failure", action="store_true", help="exit with 0 if at least one repeat succeeded"
    )
    run.add_argument(
        "--quiet", action="store_true", help="print nothing but failures, warnings and errors"
    )
    _add_verbose(run)


def _add_run_files(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--emit",
        action="append",
        default=[],
        metavar="GLOB",
        help="output to copy here from the first successful repeat; may be repeated",
    )
    run.add_argument(
        "--input",
        action="append",
        type=Path,
        default=[],
        metavar="PATH",
        help="file or directory to link into the work directories; may be repeated",
    )
    run.add_argument(
        "--here",
        action="store_true",
        help="run in the current directory; only metadata goes to the work directories",
    )
    run.add_argument(
        "--force", action="store_true", help="let --emit replace files of the current directory"
    )


def _add_collect(subcommands: "argparse._SubParsersAction[_Parser]") -> None:
    collect = subcommands.add_parser(
        "collect",
        help="make one record of each task directory",
        description=(
            "Make one record of each task directory at and below the given directories: those that"
            " hold .task.json, .command.sh, .exitcode or .fusion/; and of each copy of a trace"
            " that has no such directory here: RUN_ID.trace.json, or a .json FILE. Records are in"
            " the order of task ids, then of paths. Finding nothing is no error: the result is"
            " empty."
        ),
        allow_abbrev=False,
    )
    collect.add_argument(
        "directories",
        nargs="+",
        type=place,
        metavar="DIR|FILE",
        help="directory, copy of a trace, or URL such as s3://bucket/w (needs gpu-probe[objects])",
    )
    collect.add_argument(
        "--to",
        type=Path,
        metavar="FILE",
        help=".jsonl or .tsv file to write (default: JSON lines on standard output)",
    )
    collect.add_argument(
        "--fusion",
        choices=("auto", "on", "off"),
        default="auto",
        help=(
            "whether to read .fusion/trace.json; auto: as .task.json says, else as FUSION_ENABLED"
            " says, else yes (default: auto)"
        ),
    )
    collect.add_argument(
        "--metrics-from",
        choices=("auto", "trace.json", "command.trace", "nextflow"),
        default="auto",
        help=(
            "source of the CPU, memory and I/O figures; auto: trace.json where it has them, else"
            " .command.trace; nextflow: as NXF_FUSION_TRACE says (default: auto)"
        ),
    )
    add_source_options(collect)
    add_platform_options(collect)
    _add_verbose(collect)


def _add_send(subcommands: "argparse._SubParsersAction[_Parser]") -> None:
    send = subcommands.add_parser(
        "send",
        help="send what a spool keeps to Seqera Platform",
        description=SEND_DESCRIPTION,
        allow_abbrev=False,
    )
    add_send_options(send)
    _add_verbose(send)


def _add_verbose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="say what was skipped, and why")
