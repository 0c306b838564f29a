"""Where Seqera Platform is and who we are there, from the environment that Nextflow reads too."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import orjson

from collector.errors import PlatformMisconfigured

__all__ = [
    "DEFAULT_ENDPOINT",
    "Settings",
    "authorization",
    "check_endpoint",
    "read_settings",
]

DEFAULT_ENDPOINT = "https://api.cloud.seqera.io"
_TOKEN_NAME = "TOWER_ACCESS_TOKEN"
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_UNSET = ("", "-")  # what Nextflow takes for no endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The endpoint (without a slash at its end), the access token, and the workspace if any."""

    endpoint: str
    token: str = field(repr=False)
    workspace_id: int | None = None

    @property
    def is_clear_text(self) -> bool:
        """Whether the token would cross a network without encryption."""
        parts = urlsplit(self.endpoint)
        return parts.scheme == "http" and parts.hostname not in _LOOPBACK


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read `TOWER_ACCESS_TOKEN`, `TOWER_API_ENDPOINT` and `TOWER_WORKSPACE_ID`.

    Raises:
        PlatformMisconfigured: the token is missing, or one of them cannot be used.
    """
    token = environment.get(_TOKEN_NAME, "").strip()
    if not token:
        raise PlatformMisconfigured(
            f"no access token for Seqera Platform; create one there and export {_TOKEN_NAME}"
        )
    if not _PRINTABLE.fullmatch(token):  # the value is not shown, it may be most of a token
        raise PlatformMisconfigured(f"{_TOKEN_NAME} holds blanks or other unexpected characters")
    endpoint = environment.get("TOWER_API_ENDPOINT", "").strip()
    return Settings(
        endpoint=check_endpoint(DEFAULT_ENDPOINT if endpoint in _UNSET else endpoint),
        token=token,
        workspace_id=_workspace(environment.get("TOWER_WORKSPACE_ID", "").strip()),
    )


def check_endpoint(url: str) -> str:
    """Return an endpoint without slashes at its end.

    Raises:
        PlatformMisconfigured: it is no http or https URL, or holds more than an address and a path.
    """
    parts, port_is_sane = _split(url)
    if parts is None or parts.scheme not in ("http", "https"):
        raise PlatformMisconfigured(
            f"TOWER_API_ENDPOINT: only http and https are supported, not {_shown(url)}"
        )
    if "@" in parts.netloc or parts.query or parts.fragment or not _PRINTABLE.fullmatch(url):
        raise PlatformMisconfigured(
            "TOWER_API_ENDPOINT: give the address alone: no user, password, query or blanks"
        )
    if not parts.hostname or not port_is_sane:
        raise PlatformMisconfigured(f"TOWER_API_ENDPOINT: no host, or a bad port: {_shown(url)}")
    return url.rstrip("/")


def authorization(token: str) -> str:
    """Return the `Authorization` header: bearer for JWTs and personal tokens, else `@token` basic.

    A personal token of today is base64 of a JSON object, a dot, and a signature.
    """
    if token.count(".") == 2 or _starts_with_json(token):
        return f"Bearer {token}"
    return "Basic " + base64.b64encode(f"@token:{token}".encode()).decode()


def _starts_with_json(token: str) -> bool:
    try:
        decoded = base64.b64decode(token + "=" * (-len(token) % 4), validate=True)
        return isinstance(orjson.loads(decoded.split(b".", 1)[0]), dict)
    except (binascii.Error, ValueError):
        return False


def _shown(url: str) -> str:
    return f"{url.rpartition('@')[2]!r:.100}"  # a password before it stays hidden


def _split(url: str) -> tuple[SplitResult | None, bool]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None, False
    try:
        return parts, parts.port != 0
    except ValueError:
        return parts, False


def _workspace(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise PlatformMisconfigured(f"TOWER_WORKSPACE_ID must be a number, not {text!r:.60}")
    return int(text)
