"""The errors of this package. A message names the file, the key, and what to do next."""

__all__ = [
    "BenchmarkInvalid",
    "CollectFailed",
    "CollectorError",
    "ExecutorFailed",
    "FormatUnknown",
    "OutputRejected",
    "PlatformMisconfigured",
    "PlatformUnreached",
    "SinkRejected",
    "TaskMalformed",
    "TraceMalformed",
    "TraceNotFound",
]


class CollectorError(Exception):
    """Base of every error that this package raises on purpose."""


class TraceNotFound(CollectorError):
    """There is no trace file: the task was not wrapped, or it never started."""


class TraceMalformed(CollectorError):
    """A trace file exists but cannot be read, or does not hold what it should."""


class TaskMalformed(CollectorError):
    """A `.task.json` exists but cannot be read, or is not a JSON object."""


class CollectFailed(CollectorError):
    """A directory that was named does not exist or is not a directory."""


class SinkRejected(CollectorError):
    """A sink could not take the records."""


class PlatformMisconfigured(CollectorError):
    """Seqera Platform cannot be used with what the environment says; nothing has been sent."""


class PlatformUnreached(CollectorError):
    """Seqera Platform has not taken everything; what it has not is kept."""


class BenchmarkInvalid(CollectorError):
    """A benchmark cannot be run as it was asked for; nothing has been run."""


class FormatUnknown(CollectorError):
    """A field, or a format of a field, that does not exist was asked for."""


class OutputRejected(CollectorError):
    """An output cannot be copied to the launch directory, or would replace a file there."""


class ExecutorFailed(CollectorError):
    """An executor could not create, start or follow a task."""
