"""The options of `collect --platform` and `send`."""

import argparse
from pathlib import Path

__all__ = ["SEND_DESCRIPTION", "add_platform_options", "add_send_options"]

SEND_DESCRIPTION = (
    "Send the tasks that a spool keeps since Seqera Platform could not be reached, and end their"
    " run. Nothing is sent twice; if this fails, nothing is lost, and it can be tried again. The"
    " environment is that of collect --platform."
)


def add_platform_options(collect: argparse.ArgumentParser) -> None:
    """Add the options of `collect` that are about Seqera Platform."""
    group = collect.add_argument_group(
        "Seqera Platform",
        "The access token is TOWER_ACCESS_TOKEN, the server TOWER_API_ENDPOINT, the workspace"
        " TOWER_WORKSPACE_ID. A finished run cannot be added to, so the tasks go to a run of their"
        " own. If the server cannot be reached they are kept, and sent later by gpu-bench send.",
    )
    group.add_argument(
        "--platform", action="store_true", help="send the records to Seqera Platform"
    )
    group.add_argument(
        "--name",
        metavar="NAME",
        help="the run is called NAME-gpu (default: the first DIR's name; for work/, that above it)",
    )
    group.add_argument(
        "--spool",
        type=Path,
        metavar="SPOOL",
        help="directory that keeps what is not sent yet (default: .gpu-bench/NAME-gpu)",
    )
    group.add_argument(
        "--include",
        action="append",
        default=[],
        choices=("env", "script"),
        help="send this field too, which may hold secrets; may be repeated",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="print what would be sent, as JSON lines; no token"
    )
    _add_patience(group)


def add_send_options(send: argparse.ArgumentParser) -> None:
    """Add the options of `send`."""
    send.add_argument("spool", type=Path, metavar="SPOOL")
    _add_patience(send)


def _add_patience(parser: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    parser.add_argument(
        "--patience",
        type=float,
        metavar="SECONDS",
        help="how long a call is tried again before its tasks are kept (default: 60)",
    )
