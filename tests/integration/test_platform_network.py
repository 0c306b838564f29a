"""Sockets that misbehave, absent hosts, certificates, redirects: the token stays here."""

import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.cli import main
from helpers.platform_server import TOKEN, Fault, PlatformDouble, platform_double
from helpers.platform_tasks import (
    COLLECT,
    SPOOL,
    TASKS,
    assert_all_arrived_once,
    assert_no_token,
)


def test_a_server_that_is_not_there(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    monkeypatch.setenv("TOWER_API_ENDPOINT", f"http://127.0.0.1:{port}")
    assert main([*COLLECT, "--patience", "0"]) == 0
    said = capsys.readouterr().err
    assert "connection refused" in said
    assert f"{TASKS} tasks are kept" in said
    with platform_double() as server:
        monkeypatch.setenv("TOWER_API_ENDPOINT", server.endpoint)
        assert main(["send", str(SPOOL)]) == 0
        assert_all_arrived_once(server)


@pytest.mark.parametrize("answers", [True, False])
def test_a_name_that_does_not_exist_and_one_that_nobody_answers_for(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    answers: bool,
) -> None:
    ended = threading.Event()

    def look_up(*_arguments: object, **_more: object) -> None:
        if not answers:
            ended.wait(60)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv("TOWER_API_ENDPOINT", "https://no-such-host.invalid")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert main([*COLLECT, "--patience", "0"]) == 0
    ended.set()
    said = capsys.readouterr().err
    reason = "the name of the host cannot be resolved" if answers else "no answer within 1 s"
    assert f"https://no-such-host.invalid: {reason}" in said
    assert f"{TASKS} tasks are kept" in said


def test_a_redirect_is_never_followed(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    with platform_double() as other:
        place = {"Location": f"{other.endpoint}/trace/create?token={TOKEN}"}
        for status in (301, 302, 303, 307, 308):
            double.fail(Fault(status=status, headers=place))
            assert main([*COLLECT, "--spool", f"s{status}"]) == 125
            assert "where the token is not sent" in capsys.readouterr().err
        assert other.calls == []


def test_a_server_without_tls_and_one_that_nobody_vouches_for(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with platform_double() as plain:
        monkeypatch.setenv("TOWER_API_ENDPOINT", plain.endpoint.replace("http:", "https:"))
        assert main(COLLECT) == 125
        assert "TLS failed: " in capsys.readouterr().err
    with misbehaving(self_signed(place)) as port:
        monkeypatch.setenv("TOWER_API_ENDPOINT", f"https://127.0.0.1:{port}")
        assert main([*COLLECT, "--spool", "other"]) == 125
        assert "TLS failed: " in capsys.readouterr().err


@contextmanager
def misbehaving(wrap: Callable[[socket.socket], None]) -> Iterator[int]:
    """A socket that does to each connection what `wrap` does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    try:
                        wrap(connection)
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)


def self_signed(place: Path) -> Callable[[socket.socket], None]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = place / "key.pem", place / "cert.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return lambda connection: context.wrap_socket(connection, server_side=True).close()


def endless_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-Header: more\r\n" * 50)


def endless_body(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def reset(connection: socket.socket) -> None:
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


BEHAVIOURS: dict[str, Callable[[socket.socket], None]] = {
    "closes": lambda connection: connection.close(),
    "resets": reset,
    "no HTTP": lambda connection: connection.sendall(b"\0\xff\x7fSSH-2.0-x\r\n\r\n"),
    "bad status": lambda connection: connection.sendall(b"HTTP/1.1 2e2 OK\r\n\r\n"),
    "endless headers": endless_headers,
    "endless body": endless_body,
    "bad chunk": lambda connection: connection.sendall(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"
    ),
    "bad gzip": lambda connection: connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"
    ),
}


@pytest.mark.parametrize("behave", BEHAVIOURS.values(), ids=BEHAVIOURS.keys())
def test_sockets_that_misbehave_cost_no_task(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    behave: Callable[[socket.socket], None],
) -> None:
    with misbehaving(behave) as port:
        monkeypatch.setenv("TOWER_API_ENDPOINT", f"http://127.0.0.1:{port}")
        assert main([*COLLECT, "--patience", "0"]) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert f"{TASKS} tasks are kept" in said
    assert_no_token(place, said)
    with platform_double() as server:
        monkeypatch.setenv("TOWER_API_ENDPOINT", server.endpoint)
        assert main(["send", str(SPOOL)]) == 0
        assert_all_arrived_once(server)


def test_a_proxy_sees_the_name_of_the_server_and_never_the_token(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[bytes] = []

    def refuse(connection: socket.socket) -> None:
        heard.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    with misbehaving(refuse) as port:
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://me:hunter2@127.0.0.1:{port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TOWER_API_ENDPOINT", "https://tower.invalid")
        assert main([*COLLECT, "--patience", "0"]) == 0
        assert heard
        assert all(request.startswith(b"CONNECT tower.invalid:443") for request in heard)
        assert not any(TOKEN.encode() in request for request in heard)
        said = capsys.readouterr().err
        assert "hunter2" not in said
        assert_no_token(place, said)

        heard.clear()
        with platform_double() as server:  # without encryption, a proxy could read the token
            monkeypatch.setenv("TOWER_API_ENDPOINT", server.endpoint)
            assert main(["send", str(SPOOL)]) == 0
            assert_all_arrived_once(server)
        assert heard == []


def test_the_start_of_the_command_does_not_wait_for_what_only_the_platform_needs() -> None:
    code = (
        "import sys; from collector.cli import main\n"
        "try: main(['collect', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'urllib3', 'orjson', 'ssl', 'collector.platform'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
