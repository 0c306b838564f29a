"""The calls of the Tower trace protocol, each repeated as long as that may help."""

import contextlib
import logging
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlsplit

import orjson

from collector.platform.failures import CallFailed, explain, hide
from collector.platform.retry import RETRIED, RetryPolicy, retry_after_s, wait_s
from collector.platform.settings import Settings, authorization
from collector.platform.transport import Answer, HttpTransport, NoAnswer, Transport

__all__ = ["PlatformClient", "call_path"]

_LOG = logging.getLogger(__name__)
_SHORTEST = 8  # what is shorter is no token, and could be part of any word

Pause = Callable[[float], bool]


def call_path(call: str, workflow_id: str | None) -> str:
    """Return the path of a call: `/trace/create`, or `/trace/ID/begin` and so on."""
    if workflow_id is None:
        return f"/trace/{call}"
    return f"/trace/{quote(workflow_id, safe='')}/{call}"


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


class PlatformClient:
    """Calls one server as one user. Not for use by several threads at once.

    `pause` waits for the given seconds; if it returns true, nothing is tried again.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        policy: RetryPolicy | None = None,
        transport: Transport | None = None,
        pause: Pause = _sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy = policy or RetryPolicy()
        self.pause = pause
        self._settings = settings
        self._transport = transport or HttpTransport(settings.endpoint)
        self._clock = clock
        self._authorization = authorization(settings.token)
        forms = (settings.token, quote(settings.token, safe=""), self._authorization.split()[-1])
        self._secrets = tuple(form for form in dict.fromkeys(forms) if len(form) >= _SHORTEST)
        parts = urlsplit(settings.endpoint)
        self.place = f"{parts.scheme}://{parts.netloc}"

    def call(
        self, call: str, body: Mapping[str, Any], *, workflow_id: str | None = None
    ) -> Mapping[str, Any]:
        """Make a call and return the answer's object.

        Raises:
            CallFailed: it was refused, or every attempt failed.
        """
        return self._repeat(
            "POST" if workflow_id is None else "PUT",
            self._url(call_path(call, workflow_id)),
            orjson.dumps(body),
        )

    @contextlib.contextmanager
    def patience(self, *, once: bool) -> Iterator[None]:
        """Within, with `once`, calls are not repeated: what was down is only looked at."""
        policy = self.policy
        self.policy = replace(policy, attempts=1) if once else policy
        try:
            yield
        finally:
            self.policy = policy

    def _url(self, path: str) -> str:
        workspace = self._settings.workspace_id
        query = "" if workspace is None else f"?workspaceId={workspace}"
        return f"{self._settings.endpoint}{path}{query}"

    def _repeat(self, method: str, url: str, body: bytes) -> Mapping[str, Any]:
        started = self._clock()
        failed = 0
        while True:
            left_s = self.policy.patience_s - (self._clock() - started)
            asked_s = 0.0
            try:
                answer = self._attempt(method, url, body, max(1.0, left_s))
                asked_s = retry_after_s(answer.headers.get("retry-after"))
                return self._result(answer)
            except CallFailed as failure:
                failed += 1
                wait = wait_s(self.policy, failed, asked_s, random=random.random)
                left_s = self.policy.patience_s - (self._clock() - started)
                if not failure.is_passing or failed >= self.policy.attempts or wait > left_s:
                    raise
                _LOG.debug("attempt %d: %s; again in %.1f s", failed, failure, wait)
                if self.pause(wait):
                    raise

    def _attempt(self, method: str, url: str, body: bytes, left_s: float) -> Answer:
        headers = {
            "Authorization": self._authorization,
            "Content-Type": "application/json; charset=utf-8",
            "Accept": "application/json",
            "User-Agent": f"gpu-bench/{version('gpu-probe')}",
            "Traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01",
        }
        limit_s = min(self.policy.attempt_s, left_s)
        try:
            answer = self._transport.send(method, url, headers, body, limit_s=limit_s)
        except NoAnswer as error:
            raise self._failure(str(error), is_passing=error.is_passing) from None
        return Answer(
            status=answer.status,
            headers={name.lower(): value for name, value in answer.headers.items()},
            body=answer.body,
        )

    def _result(self, answer: Answer) -> Mapping[str, Any]:
        if 300 <= answer.status < 400:
            target = hide(answer.headers.get("location", ""), self._secrets)
            raise self._failure(_redirection(answer.status, target), status=answer.status)
        if not 200 <= answer.status < 300:
            raise self._failure(
                explain(answer.status, answer.body, secrets=self._secrets),
                status=answer.status,
                is_passing=answer.status in RETRIED,
                is_foreign=answer.status == 404,
            )
        try:
            parsed = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict):  # such as the page of a network that wants a login
            raise self._failure("what answers there is not Seqera Platform", is_foreign=True)
        if parsed.get("status") == "KO":
            raise self._failure("the call was answered with KO")
        return {
            key: hide(value, self._secrets) if isinstance(value, str) else value
            for key, value in parsed.items()
        }

    def _failure(
        self, reason: str, *, status: int = 0, is_passing: bool = False, is_foreign: bool = False
    ) -> CallFailed:
        return CallFailed(
            f"Seqera Platform at {self.place}: {reason}",
            status=status,
            is_passing=is_passing,
            is_foreign=is_foreign,
        )


def _redirection(status: int, location: str) -> str:
    try:
        target = urlsplit(location)
    except ValueError:
        target = urlsplit("")
    host = "".join(c for c in (target.hostname or "") if c.isprintable())
    place = f"{target.scheme}://{host}" if host else "another place"
    return f"HTTP {status}: it leads to {place:.100}, where the token is not sent"
