"""The command `gpu-bench`."""

from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run `gpu-bench` with the given words (default: those of the process); return its status.

    Everything else is imported from here, so that an interrupt of the imports is one of the
    command: quiet, and status 130.
    """
    try:
        from collector.cli import entry  # noqa: PLC0415

        return entry.main(argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
