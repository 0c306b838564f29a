"""Why a call to Seqera Platform came to nothing."""

import re

import orjson

from collector.errors import CollectorError

__all__ = ["CallFailed", "explain", "hide", "message_of"]

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_SHOWN = 200
_HIDDEN = "[secure]"
_LOOKED_AT_BYTES = 16 * 1024  # looking for a title takes the square of that, at worst


class CallFailed(CollectorError):
    """A call was refused, or not answered.

    Attributes:
        status: the HTTP status; 0 where there was no usable answer.
        is_passing: whether the same call may succeed later without anything being changed.
        is_foreign: whether what answered is not Seqera Platform.
    """

    def __init__(
        self, message: str, *, status: int = 0, is_passing: bool = False, is_foreign: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.is_passing = is_passing
        self.is_foreign = is_foreign


def message_of(body: bytes | None) -> str | None:
    """Return what an error's body says: its JSON `message`, its HTML title, or all of it."""
    if body is None:
        return None
    text = body.decode("utf-8", "replace")
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    if isinstance(parsed, dict) and isinstance(parsed.get("message"), str):
        return str(parsed["message"])
    title = _TITLE.search(text)
    return " ".join(title[1].split()) if title and title[1].strip() else text


def hide(text: str, secrets: tuple[str, ...]) -> str:
    """Return a server's text without the tokens in it."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text


def explain(status: int, body: bytes, *, secrets: tuple[str, ...]) -> str:
    """Return one printable line about an error status; tokens that a server repeats are hidden."""
    for secret in secrets:  # before anything is cut, which could leave a part of one
        body = body.replace(secret.encode(), _HIDDEN.encode())
    # Once more, as JSON can write any character in another way.
    said = hide(message_of(body[:_LOOKED_AT_BYTES]) or "", secrets)
    line = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    hints = {
        401: "the access token was not accepted; check TOWER_ACCESS_TOKEN",
        403: "the access token has no right to do this, or has expired;"
        " check TOWER_ACCESS_TOKEN and TOWER_WORKSPACE_ID",
        404: "nothing there; check TOWER_API_ENDPOINT",
    }
    hint = hints.get(status)
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "..."
    return ": ".join(part for part in (f"HTTP {status}", hint, shown) if part)
