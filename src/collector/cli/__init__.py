"""The command `gpu-bench`."""

from collector.cli.entry import main

__all__ = ["main"]
