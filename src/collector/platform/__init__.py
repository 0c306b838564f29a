"""Records to Seqera Platform: the Tower trace protocol, and a spool that outlives failures."""

from collector.platform.retry import RetryPolicy
from collector.platform.settings import DEFAULT_ENDPOINT, Settings, read_settings
from collector.platform.sink import Outcome, PlatformSink, default_run_name, new_run, send_spool
from collector.platform.spool import RunState, Spool
from collector.platform.trial import dry_run

__all__ = [
    "DEFAULT_ENDPOINT",
    "Outcome",
    "PlatformSink",
    "RetryPolicy",
    "RunState",
    "Settings",
    "Spool",
    "default_run_name",
    "dry_run",
    "new_run",
    "read_settings",
    "send_spool",
]
