"""When a call is repeated: Nextflow's policy, and a bound to the time that it may take."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["RETRIED", "RetryPolicy", "retry_after_s", "wait_s"]

RETRIED = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Waits of `delay_s`, twice that and so on, at most `max_delay_s`, each `jitter` more or less.

    Nextflow's ten attempts take three minutes, for it loses what it gives up; what we
    give up is kept. So no attempt begins later than `patience_s` after the first one, and
    none takes longer than `attempt_s`, whatever the server does.
    """

    delay_s: float = 0.35
    multiplier: float = 2.0
    max_delay_s: float = 90.0
    jitter: float = 0.25
    attempts: int = 10
    patience_s: float = 60.0
    attempt_s: float = 60.0


def wait_s(
    policy: RetryPolicy, failed: int, retry_after: float, *, random: Callable[[], float]
) -> float:
    """Return the seconds to wait after the `failed`-th failure (from 1).

    `random` gives numbers from 0 to 1. What the server asked for is the least, up to `max_delay_s`.
    """
    planned = min(policy.delay_s * policy.multiplier ** (failed - 1), policy.max_delay_s)
    jittered = planned * (1 + policy.jitter * (2 * random() - 1))
    return max(jittered, min(retry_after, policy.max_delay_s))


def retry_after_s(header: str | None) -> float:
    """Return the seconds of a `Retry-After`; 0 for none, and for the form with a date."""
    text = (header or "").strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
