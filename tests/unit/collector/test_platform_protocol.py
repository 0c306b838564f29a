"""Facts of the Tower trace protocol, by the number of their section: 3.1 to 3.3, 3.7 and 3.9."""

import base64
from typing import Any

import pytest

from collector.errors import PlatformMisconfigured
from collector.platform import DEFAULT_ENDPOINT, RetryPolicy, read_settings
from collector.platform.client import call_path
from collector.platform.failures import explain, message_of
from collector.platform.limits import LIMITS, cut, truncate
from collector.platform.retry import RETRIED, retry_after_s, wait_s
from collector.platform.settings import authorization, check_endpoint

HEX_TOKEN = "4ffbf1009ebabea77db3d72efefa836dfbb71271"
PERSONAL_TOKEN = base64.b64encode(b'{"tid": 5}.fe4d3e1fb5e3f4c2').decode()


def test_3_1_the_paths() -> None:
    assert call_path("create", None) == "/trace/create"
    assert call_path("begin", "abc") == "/trace/abc/begin"
    assert call_path("progress", "a/b?c") == "/trace/a%2Fb%3Fc/progress"


def test_3_1_slashes_at_the_end_of_an_endpoint_are_taken_away() -> None:
    assert check_endpoint("http://google.com:8080/foo/bar///") == "http://google.com:8080/foo/bar"


@pytest.mark.parametrize("url", ["ftp://localhost", "localhost", "", "https://", "http://[::1"])
def test_3_1_only_http_and_https_urls_are_endpoints(url: str) -> None:
    with pytest.raises(PlatformMisconfigured, match="TOWER_API_ENDPOINT"):
        check_endpoint(url)


def test_3_2_a_jwt_and_a_personal_token_are_bearers_anything_else_is_basic() -> None:
    assert authorization("aaa.bbb.ccc") == "Bearer aaa.bbb.ccc"
    assert PERSONAL_TOKEN.startswith("eyJ0aWQi")
    assert authorization(PERSONAL_TOKEN) == f"Bearer {PERSONAL_TOKEN}"
    assert authorization(PERSONAL_TOKEN.rstrip("=")).startswith("Bearer ")
    encoded = base64.b64encode(f"@token:{HEX_TOKEN}".encode()).decode()
    assert authorization(HEX_TOKEN) == f"Basic {encoded}"
    assert authorization("1234").startswith("Basic ")  # decodes, and is no JSON
    assert authorization(base64.b64encode(b"12.ab").decode()).startswith("Basic ")  # no object


def test_3_3_nine_waits_that_double_up_to_ninety_seconds() -> None:
    waits = [wait_s(RetryPolicy(), failed, 0, random=lambda: 0.5) for failed in range(1, 10)]
    assert waits == pytest.approx([0.35, 0.7, 1.4, 2.8, 5.6, 11.2, 22.4, 44.8, 89.6])
    assert wait_s(RetryPolicy(), 10, 0, random=lambda: 0.5) == 90
    assert RetryPolicy().attempts == 10


def test_3_3_a_quarter_of_jitter_to_both_sides() -> None:
    assert wait_s(RetryPolicy(), 2, 0, random=lambda: 0.0) == pytest.approx(0.7 * 0.75)
    assert wait_s(RetryPolicy(), 2, 0, random=lambda: 1.0) == pytest.approx(0.7 * 1.25)


def test_3_3_retry_after_is_the_least_and_at_most_the_longest_wait() -> None:
    assert wait_s(RetryPolicy(), 1, 5, random=lambda: 0.5) == 5
    assert wait_s(RetryPolicy(), 6, 5, random=lambda: 0.5) == pytest.approx(11.2)
    assert wait_s(RetryPolicy(), 1, 3600, random=lambda: 0.5) == 90


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), (None, 0), ("-1", 0), ("1.5", 0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0), ("²", 0)],
)
def test_3_3_retry_after_in_seconds_only(header: str | None, seconds: float) -> None:
    assert retry_after_s(header) == seconds


def test_3_3_the_statuses_that_are_repeated() -> None:
    assert sorted(RETRIED) == [429, 500, 502, 503, 504]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><title>502 Bad Gateway</title></html>", "502 Bad Gateway"),
        (b'<title lang="en">Oh no</title>', "Oh no"),
        (b"<title>Two\n  lines</title>", "Two lines"),
        (b"<title> </title>", "<title> </title>"),
        (b"<html>nothing</html>", "<html>nothing</html>"),
        (b'{"message":"Boom"}', "Boom"),
        (b'{"other":1}', '{"other":1}'),
        (None, None),
    ],
)
def test_3_3_what_the_body_of_an_error_says(body: bytes | None, message: str | None) -> None:
    assert message_of(body) == message


def test_what_a_server_says_is_one_printable_line_of_bounded_length_without_the_token() -> None:
    said = explain(500, b"a\x1b[31m\n\xff" + b"x" * 5000 + b"tok", secrets=("tok",))
    assert said.isprintable()
    assert len(said) < 300
    assert explain(400, b'{"message":"not tok-en"}', secrets=("tok-en",)).endswith("not [secure]")
    escaped = rb'{"message":"not \u0074ok-en"}'
    assert explain(400, escaped, secrets=("tok-en",)).endswith("not [secure]")


@pytest.mark.parametrize("blanks", range(16 * 1024 - 40, 16 * 1024 + 1, 7))
def test_a_token_is_hidden_before_what_the_server_says_is_cut(blanks: int) -> None:
    said = explain(500, b"x" + b" " * blanks + HEX_TOKEN.encode(), secrets=(HEX_TOKEN,))
    assert HEX_TOKEN[:4] not in said


def test_3_7_the_limits_are_those_of_nextflow() -> None:
    some = {
        "workflow.id": 16,
        "workflow.manifest.description": 1024,
        "workflow.operationId": 110,
        "processNames": 255,
        "tasks.env": 2048,
        "tasks.script": 10240,
        "tasks.status": 10,
        "tasks.hash": 34,
        "tasks.workdir": 512,
        "tasks.queue": 100,
        "tasks.nativeId": 100,
        "tasks.errorAction": 10,
        "tasks.priceModel": 15,
        "metrics.timeUsage.q2Label": 255,
    }
    assert {path: LIMITS[path] for path in some} == some
    assert not any("gpu" in path.lower() for path in LIMITS)


@pytest.mark.parametrize(
    ("value", "limits", "expected"),
    [
        ({"foo": "Hello world"}, {"foo": 5}, {"foo": "Hello"}),
        (
            {"bar": {"one": "Hello world", "two": "Hello world"}},
            {"bar.one": 5},
            {"bar": {"one": "Hello", "two": "Hello world"}},
        ),
        ({"gitmodules": "123456789012345"}, {"gitmodules": 10}, {"gitmodules": "1234567890"}),
        ({"tasks": [{"script": "abc"}]}, {"tasks.script": 2}, {"tasks": [{"script": "ab"}]}),
        ({"n": 12345, "none": None}, {"n": 2}, {"n": 12345, "none": None}),
    ],
)
def test_3_7_strings_are_cut_by_the_path_of_their_keys(
    value: Any,  # noqa: ANN401 - any JSON
    limits: dict[str, int],
    expected: object,
) -> None:
    assert truncate(value, limits=limits) == expected


def test_3_7_lengths_are_utf_16_units_and_no_character_is_halved() -> None:
    assert cut("äöü", 2) == "äö"
    assert cut("a🙂b", 4) == "a🙂b"
    assert cut("a🙂b", 3) == "a🙂"
    assert cut("a🙂b", 2) == "a"


def test_3_9_the_environment() -> None:
    settings = read_settings({"TOWER_ACCESS_TOKEN": " token-1 \n"})
    assert settings.endpoint == DEFAULT_ENDPOINT == "https://api.cloud.seqera.io"
    assert settings.workspace_id is None
    assert settings.token == "token-1"
    assert "token-1" not in repr(settings)
    for unset in ("", "-"):
        environment = {"TOWER_ACCESS_TOKEN": "t", "TOWER_API_ENDPOINT": unset}
        assert read_settings(environment).endpoint == DEFAULT_ENDPOINT
    full = {
        "TOWER_ACCESS_TOKEN": "t",
        "TOWER_API_ENDPOINT": "https://tower.example/api/",
        "TOWER_WORKSPACE_ID": "42",
        "TOWER_WORKFLOW_ID": "the-run-of-nextflow",
    }
    assert read_settings(full).endpoint == "https://tower.example/api"
    assert read_settings(full).workspace_id == 42


def test_3_9_no_token_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(PlatformMisconfigured, match="TOWER_ACCESS_TOKEN"):
        read_settings({})


@pytest.mark.parametrize(
    ("endpoint", "is_clear"),
    [
        ("http://tower.example", True),
        ("https://tower.example", False),
        ("http://127.0.0.1:8000", False),
    ],
)
def test_an_endpoint_without_encryption_is_known_as_such(endpoint: str, *, is_clear: bool) -> None:
    environment = {"TOWER_ACCESS_TOKEN": "t", "TOWER_API_ENDPOINT": endpoint}
    assert read_settings(environment).is_clear_text is is_clear
