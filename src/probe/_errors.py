"""The one error that this package raises by itself."""

__all__ = ["ProbeError"]


class ProbeError(Exception):
    """Measuring could not start, or was used in the wrong order."""
