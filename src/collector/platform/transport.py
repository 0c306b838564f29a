"""One HTTP exchange that ends in time, whatever the other side does. The only user of urllib3."""

import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urlsplit

import urllib3

__all__ = ["Answer", "HttpTransport", "NoAnswer", "Transport"]

_ANSWER_LIMIT_BYTES = 1024 * 1024
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswer(Exception):
    """There was no whole answer. The message is one line and holds no secret."""

    def __init__(self, message: str, *, is_passing: bool = True) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class Transport(Protocol):
    """Makes one exchange."""

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, limit_s: float
    ) -> Answer:
        """Send a request; follow no redirect, repeat nothing.

        Raises:
            NoAnswer: there was no whole answer within `limit_s`.
        """
        ...


class HttpTransport:
    """HTTP/1.1 over kept connections, through the proxy of the environment if the URL is https.

    A request without encryption would show its token to a proxy, so it never goes through one.
    Once `stopping` is set, no answer is waited for.
    """

    def __init__(self, url: str, *, stopping: threading.Event | None = None) -> None:
        self._stopping = stopping or threading.Event()
        parts = urlsplit(url)
        proxy = urllib.request.getproxies().get("https") if parts.scheme == "https" else None
        if proxy and urllib.request.proxy_bypass(parts.netloc):
            proxy = None
        self._proxy = proxy
        self._pool = self._new_pool()

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, limit_s: float
    ) -> Answer:
        """Send a request from a thread of its own, which is left behind when time is up.

        Time-outs of sockets do not bound the whole: a name that takes minutes to resolve, an answer
        that comes a byte at a time.
        """
        outcome: list[Answer | NoAnswer] = []
        pool = self._pool

        def exchange() -> None:
            request = _Request(method=method, url=url, headers=dict(headers), body=body)
            outcome.append(_exchange(pool, request, limit_s))

        thread = threading.Thread(target=exchange, daemon=True)
        thread.start()
        deadline = time.monotonic() + limit_s
        while thread.is_alive() and time.monotonic() < deadline and not self._stopping.is_set():
            thread.join(min(_LOOK_S, max(0.0, deadline - time.monotonic())))
        if not outcome:
            self._pool = self._new_pool()
            if self._stopping.is_set():
                raise NoAnswer("its answer is not waited for any more")
            raise NoAnswer(f"no answer within {limit_s:.0f} s")
        if isinstance(outcome[0], NoAnswer):
            raise outcome[0]
        return outcome[0]

    def _new_pool(self) -> urllib3.PoolManager:
        context = ssl.create_default_context()
        if self._proxy is None:
            return urllib3.PoolManager(ssl_context=context)
        userinfo = urlsplit(self._proxy).netloc.rpartition("@")[0]
        headers = urllib3.make_headers(proxy_basic_auth=unquote(userinfo) if userinfo else None)
        return urllib3.ProxyManager(self._proxy, proxy_headers=headers, ssl_context=context)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def _exchange(pool: urllib3.PoolManager, request: _Request, limit_s: float) -> Answer | NoAnswer:
    try:
        response = pool.request(
            request.method,
            request.url,
            headers=request.headers,
            body=request.body,
            retries=False,
            redirect=False,
            timeout=limit_s,
            preload_content=False,
        )
        try:
            data = response.read(_ANSWER_LIMIT_BYTES)
            if response.read(1):
                return NoAnswer(f"an answer of more than {_ANSWER_LIMIT_BYTES} bytes")
        finally:
            response.close()  # a connection whose answer was read to its end is kept all the same
        return Answer(status=response.status, headers=dict(response.headers), body=data)
    except Exception as error:  # this is the end of a thread: nobody else would hear of it
        return _no_answer(error)


def _no_answer(error: BaseException) -> NoAnswer:
    """Say why in words of our own: messages of libraries repeat addresses and object names."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            reason = getattr(cause, "verify_message", None) or cause.reason or "no TLS there"
            return NoAnswer(f"TLS failed: {reason}", is_passing=False)
    for cause in causes:
        if isinstance(cause, urllib3.exceptions.NameResolutionError):
            return NoAnswer("the name of the host cannot be resolved")
        if isinstance(cause, urllib3.exceptions.ProxyError):
            return NoAnswer("the proxy cannot be used")
    for cause in causes:
        if isinstance(cause, OSError) and cause.strerror:
            return NoAnswer(cause.strerror.lower())
    # Last: to urllib3 a refused connection is a time-out too.
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return NoAnswer("no answer in time")
    return NoAnswer("the connection broke before the whole answer had come")


def _causes(error: BaseException | None) -> "list[BaseException]":
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        reason = getattr(error, "reason", None) or getattr(error, "original_error", None)
        held = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
        following = reason if isinstance(reason, BaseException) else held
        error = following or error.__cause__ or error.__context__
    return found
