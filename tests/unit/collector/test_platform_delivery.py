"""Outages and recoveries of a run, with a clock and a server that the test moves."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from collector.platform import RetryPolicy, RunState, Settings, Spool
from collector.platform.client import PlatformClient
from collector.platform.delivery import Delivery
from collector.platform.failures import CallFailed
from collector.platform.settings import authorization
from collector.platform.spool import Outgoing
from collector.platform.transport import Answer, NoAnswer

RUN = RunState(
    name="n-gpu",
    endpoint="https://x.example",
    workspace_id=None,
    session_id="s",
    command_line="c",
    work_dir="w",
    registered_ms=1,
)


class Server:
    """Answers or does not; keeps the calls and the waits between them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.waits: list[float] = []
        self.now = 0.0
        self.failing: Answer | NoAnswer | None = None

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, limit_s: float
    ) -> Answer:
        self.calls.append(url.rpartition("/")[2])
        if isinstance(self.failing, NoAnswer):
            raise self.failing
        if self.failing is not None:
            return self.failing
        return Answer(status=200, headers={}, body=orjson.dumps({"workflowId": "w1"}))

    def pause(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return False


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def delivery(server: Server, tmp_path: Path) -> Iterator[Delivery]:
    spool = Spool.open(tmp_path / "s", new=RUN)
    client = PlatformClient(
        Settings(endpoint="https://x.example", token="t"),
        policy=RetryPolicy(patience_s=1000),
        transport=server,
        pause=server.pause,
        clock=lambda: server.now,
    )
    yield Delivery(spool, client, clock=lambda: server.now, clock_ms=lambda: 5)
    spool.close()


def batch(number: int) -> list[Outgoing]:
    return [Outgoing(key=f"k{number}", task={"taskId": number, "status": "COMPLETED"})]


def status(number: int, **headers: str) -> Answer:
    return Answer(status=number, headers=headers, body=b"")


def test_3_3_ten_attempts_then_the_call_has_failed(delivery: Delivery, server: Server) -> None:
    server.failing = status(503)
    with pytest.raises(CallFailed, match="HTTP 503"):
        delivery.register()
    assert server.calls == ["create"] * 10
    assert len(server.waits) == 9
    assert 0.75 * 178.9 < sum(server.waits) < 1.25 * 178.9


@pytest.mark.parametrize("refusal", [400, 401, 403, 404, 408, 409, 413, 301, 307])
def test_3_3_what_is_not_repeated(delivery: Delivery, server: Server, refusal: int) -> None:
    server.failing = status(refusal)
    with pytest.raises(CallFailed, match=f"HTTP {refusal}"):
        delivery.register()
    assert server.calls == ["create"]


def test_3_3_retry_after_is_heeded_whatever_the_case_of_its_name(
    delivery: Delivery, server: Server
) -> None:
    server.failing = status(429, **{"Retry-After": "30"})
    with pytest.raises(CallFailed):
        delivery.register()
    assert min(server.waits) >= 30


def test_in_an_outage_batches_are_kept_and_one_attempt_a_minute_is_made(
    delivery: Delivery, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    delivery.register()
    server.failing = NoAnswer("connection refused")
    delivery.put(batch(1))
    assert len(server.calls) == 1 + 10
    for number in range(2, 30):
        delivery.put(batch(number))
    assert len(server.calls) == 1 + 10
    server.now += 61
    delivery.put(batch(30))
    assert len(server.calls) == 1 + 10 + 1
    assert len([entry for entry in caplog.records if entry.levelno >= logging.WARNING]) == 1
    assert len(delivery.spool.pending) == 30

    server.failing = None
    server.now += 61
    delivery.heartbeat()  # nothing new: the sign of life finds out
    assert delivery.failure is None
    assert list(delivery.spool.pending) == []
    assert server.calls[-31:] == ["begin", *["progress"] * 30]
    assert "takes tasks again" in caplog.text


def test_what_is_refused_is_not_asked_again(delivery: Delivery, server: Server) -> None:
    delivery.register()
    server.failing = status(401)
    delivery.put(batch(1))
    server.now += 100_000
    delivery.put(batch(2))
    delivery.heartbeat()
    assert server.calls == ["create", "begin"]


def test_3_6_a_sign_of_life_only_when_the_run_has_begun_and_its_failure_is_no_outage(
    delivery: Delivery, server: Server
) -> None:
    delivery.register()
    delivery.heartbeat()
    assert server.calls == ["create"]
    delivery.put(batch(1))
    delivery.heartbeat()
    assert server.calls == ["create", "begin", "progress", "heartbeat"]
    server.failing = status(403)
    delivery.heartbeat()
    assert delivery.failure is None


def test_3_1_complete_comes_after_everything_else_and_once(
    delivery: Delivery, server: Server
) -> None:
    delivery.put(batch(1))
    delivery.complete()
    delivery.complete()
    assert server.calls == ["create", "begin", "progress", "complete"]


def test_an_answer_without_a_workflow_id_is_of_another_server(
    delivery: Delivery, server: Server
) -> None:
    server.failing = Answer(status=200, headers={}, body=b"{}")
    with pytest.raises(CallFailed, match="TOWER_API_ENDPOINT") as raised:
        delivery.register()
    assert raised.value.is_foreign


@pytest.mark.parametrize("token", ["ab/cd+0123456789==", "0123456789abcdef"])
@pytest.mark.parametrize("form", ["plain", "quoted", "header"])
def test_a_token_in_an_answer_is_not_taken_over(
    server: Server, tmp_path: Path, token: str, form: str
) -> None:
    """The run's page is printed, and so is where a redirect leads to."""
    encoded = authorization(token).split()[-1]
    shown = {"plain": token, "quoted": quote(token, safe=""), "header": encoded}[form]
    client = PlatformClient(
        Settings(endpoint="https://x.example", token=token), transport=server, pause=server.pause
    )
    spool = Spool.open(tmp_path / "s", new=RUN)
    answered = {"workflowId": "w1", "watchUrl": f"https://x.example/?t={shown}"}
    server.failing = Answer(status=200, headers={}, body=orjson.dumps(answered))
    Delivery(spool, client).register()
    assert spool.run.watch_url == "https://x.example/?t=[secure]"
    server.failing = status(307, Location=f"https://{shown}.example/")
    with pytest.raises(CallFailed, match="leads to") as caught:
        Delivery(spool, client).flush()
    assert shown.lower() not in str(caught.value).lower()
    spool.close()
