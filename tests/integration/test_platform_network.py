"""Sockets that misbehave, absent hosts, certificates, redirects: the token stays here."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.cli import main
from helpers.platform_server import TOKEN, Fault, PlatformDouble, platform_double
from helpers.platform_tasks import COLLECT, SPOOL, TASKS, assert_all_arrived_once


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


def test_a_name_that_does_not_exist(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOWER_API_ENDPOINT", "https://no-such-host.invalid")
    assert main([*COLLECT, "--patience", "0"]) == 0
    assert "https://no-such-host.invalid: " in capsys.readouterr().err


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
