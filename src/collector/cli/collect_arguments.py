"""The options of `gpu-bench collect` about sources, tables and watching, as data."""

import argparse
from pathlib import Path

__all__ = ["add_source_options", "place"]


def place(word: str) -> Path | str:
    """Return a URL as it is, and anything else as a path."""
    return word if "://" in word else Path(word)


def add_source_options(collect: argparse.ArgumentParser) -> None:
    """Add the options."""
    collect.add_argument(
        "--nextflow-trace",
        type=Path,
        metavar="TRACE.TXT",
        help="trace.txt of the Nextflow run: ids, names and statuses of its tasks, by their hash",
    )
    collect.add_argument(
        "--fields",
        metavar="LIST",
        help=(
            "columns of a .tsv file, as in Nextflow's trace.fields, such as rss or rss:num; also"
            " trace.txt (its default columns), all and gpu"
        ),
    )
    collect.add_argument(
        "--raw", action="store_true", help="with --fields: dates, times, %% and memory as numbers"
    )
    collect.add_argument(
        "--directory-timeout",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds to wait for one directory that does not answer (default: 30)",
    )
    collect.add_argument(
        "--watch",
        action="store_true",
        help=(
            "follow running tasks and write a record of each as it completes, until a signal; goes"
            " on where an earlier watch into the same .jsonl file ended"
        ),
    )
    collect.add_argument(
        "--until-idle",
        type=float,
        metavar="S",
        help="with --watch: end when nothing has completed or appeared for S seconds",
    )
    collect.add_argument(
        "--until-exit",
        type=int,
        metavar="PID",
        help="with --watch: end after the process, such as nextflow, has ended",
    )
