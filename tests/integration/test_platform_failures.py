"""Telemetry never hurts: whatever the server does, tasks are kept, and arrive later, once."""

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
from helpers.builders import task_directory, trace
from helpers.platform_server import TOKEN, Fault, PlatformDouble, platform_double

TASKS = 250
COLLECT = ["collect", "work", "--platform", "--name", "x"]
SPOOL = Path(".gpu-bench/x-gpu")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOWER_ACCESS_TOKEN", TOKEN)
    make_tasks(TASKS)
    return tmp_path


@pytest.fixture
def double(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlatformDouble]:
    with platform_double() as server:
        monkeypatch.setenv("TOWER_API_ENDPOINT", server.endpoint)
        yield server


def make_tasks(count: int) -> None:
    for number in range(1, count + 1):
        task_directory(
            Path("work") / f"{number:02x}"[:2] / f"{number:030x}",
            task={"task_id": str(number), "name": f"p ({number})", "process": "p"},
            trace=trace(),
            exit_code=int(number % 3 == 0),
        )


def assert_all_arrived_once(server: PlatformDouble, count: int = TASKS) -> None:
    assert len(server.run.tasks) == count
    assert set(server.run.ends.values()) == {1}
    assert server.run.completed
    assert all("gpuMetrics" in task for task in server.run.tasks.values())
    assert sorted(task["name"] for task in server.run.tasks.values()) == sorted(
        f"p ({number})" for number in range(1, count + 1)
    )


def assert_no_token(place: Path, *texts: str) -> None:
    """Neither the token nor its encoded form is in any file or text."""
    parts = [TOKEN, TOKEN[:-4], TOKEN[4:40]]
    files = [path for path in place.rglob("*") if path.is_file()]
    assert files
    for text in [*texts, *(path.read_bytes().decode("latin-1") for path in files)]:
        assert not any(part in text for part in parts)


REFUSALS = {
    "401": Fault(status=401, body=f'{{"message": "bad token {TOKEN}"}}'.encode()),
    "403": Fault(status=403, body=b""),
    "redirect": Fault(status=307, headers={"Location": "http://127.0.0.2:1/trace/create"}),
    "ko": Fault(kind="ko"),
}
OUTAGES = {
    "429": Fault(status=429, headers={"Retry-After": "3600"}),
    "500": Fault(status=500, body=b"<html><title>Oh\n no</title></html>"),
    "503": Fault(status=503),
    "drop": Fault(kind="drop"),
    "drop after": Fault(kind="drop", after=True),
    "half": Fault(kind="half"),
    "half after": Fault(kind="half", after=True),
    "silent": Fault(kind="silent"),
    "drip": Fault(kind="drip"),
}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        *(("progress", kind) for kind in OUTAGES),
        *(
            (call, kind)
            for call in ("create", "begin", "complete")
            for kind in ("503", "half after")
        ),
    ],
)
def test_in_an_outage_tasks_are_kept_said_once_and_sent_later(
    double: PlatformDouble,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    call: str,
    kind: str,
) -> None:
    fault = OUTAGES[kind]
    double.script = lambda name, _number: fault if name == call else None
    assert main([*COLLECT, "--patience", "0"]) == 0
    said = capsys.readouterr().err
    assert said.count("warning: ") == 1
    assert "gpu-bench send .gpu-bench/x-gpu" in said
    assert SPOOL.exists()
    double.released.set()

    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 0
    assert_all_arrived_once(double)
    assert_no_token(place, said)


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("call", ["create", "progress"])
def test_what_must_be_put_right_first_is_an_error_and_nothing_is_lost(
    double: PlatformDouble,
    place: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    fault: Fault,
    call: str,
) -> None:
    double.script = lambda name, _number: fault if name == call else None
    assert main([*COLLECT, "--verbose"]) == 125
    said = capsys.readouterr().err
    assert said.count("warning: ") == 1
    assert "gpu-bench send .gpu-bench/x-gpu" in said.splitlines()[-1]
    assert len([made for made in double.calls if made.call == call]) == 1  # no use in repeating

    assert main(["send", str(SPOOL)]) == 125  # not yet
    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 0
    assert_all_arrived_once(double)
    assert_no_token(place, said, *capsys.readouterr())


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


def test_a_passing_fault_is_repeated_and_not_even_said(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    double.fail(Fault(status=502), None, Fault(kind="drop"), Fault(kind="half", after=True))
    assert main(COLLECT) == 0
    assert "warning" not in capsys.readouterr().err
    assert_all_arrived_once(double)


def test_retry_after_is_waited_for(double: PlatformDouble) -> None:
    import time

    double.fail(Fault(status=429, headers={"Retry-After": "1"}))
    before = time.monotonic()
    assert main(COLLECT) == 0
    assert time.monotonic() - before >= 1.0
    assert_all_arrived_once(double)


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


def test_one_task_that_is_refused_costs_no_other(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    """SC-003: it is reported itself too, without the figures that are not taken."""
    answer = double._answer

    def picky(made: object) -> tuple[int, dict[str, object]]:
        tasks = getattr(made, "body")["tasks"] if getattr(made, "call") == "progress" else []
        if any(task["name"] == "p (42)" and "gpuMetrics" in task for task in tasks):
            return 400, {"message": "I do not like it"}
        return answer(made)  # type: ignore[arg-type]

    double._answer = picky  # type: ignore[method-assign]
    assert main(COLLECT) == 0
    assert len(double.run.tasks) == TASKS
    assert set(double.run.ends.values()) == {1}
    assert double.run.completed
    assert capsys.readouterr().err.count("I do not like it") == 1
    assert b"p (42)" in (SPOOL / "rejected.jsonl").read_bytes()


def test_a_run_that_the_server_does_not_know_any_more_keeps_its_tasks(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    double.script = lambda name, _number: Fault() if name == "progress" else None
    assert main([*COLLECT, "--patience", "0"]) == 0
    double.script = lambda _name, _number: None
    double.runs.clear()
    capsys.readouterr()
    assert main(["send", str(SPOOL)]) == 125
    assert "Unknown workflow" in capsys.readouterr().err
    assert len(list((SPOOL / "pending").iterdir())) == 3


def test_another_server_than_the_run_s_gets_neither_token_nor_tasks(
    double: PlatformDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    double.script = lambda name, _number: Fault() if name == "progress" else None
    assert main([*COLLECT, "--patience", "0"]) == 0
    capsys.readouterr()
    with platform_double() as other:
        monkeypatch.setenv("TOWER_API_ENDPOINT", other.endpoint)
        assert main(["send", str(SPOOL)]) == 125
        assert double.endpoint in capsys.readouterr().err
        assert other.calls == []


def test_a_killed_collection_loses_nothing_and_sends_nothing_twice(
    double: PlatformDouble, place: Path
) -> None:
    """Killed when the server has taken the second batch and before it could say so."""
    seen = threading.Event()

    def script(call: str, _number: int) -> Fault | None:
        if call == "progress" and len(double.bodies("progress")) == 2:
            seen.set()
            return Fault(kind="silent", after=True)
        return None

    double.script = script
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from collector.cli import main; sys.exit(main())"]
        + COLLECT,
        cwd=place,
        stderr=subprocess.DEVNULL,
    )
    assert seen.wait(60)
    process.kill()
    process.wait()
    double.released.set()
    assert main(COLLECT) == 0
    assert_all_arrived_once(double)
    assert double.run.dropped == 100  # the batch of which the answer never came
    calls = [made.call for made in double.calls]
    assert calls.count("create") == calls.count("begin") == 1


def test_an_interrupt_keeps_what_was_not_sent(
    double: PlatformDouble, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import signal

    seen = threading.Event()

    def script(call: str, _number: int) -> Fault | None:
        if call == "progress":
            seen.set()
            return Fault(kind="silent")
        return None

    double.script = script
    code = (
        "import sys; from collector.cli import main; import collector.collect as c;"
        "import collector.cli.collect as m;"
        "m.collect_directories = lambda roots, options: forever(c.collect_directories(roots,"
        " options));\n"
        "def forever(records):\n"
        "    yield from records\n"
        "    import threading; threading.Event().wait()\n"
        "sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *COLLECT], cwd=place, stderr=subprocess.PIPE, text=True
    )
    assert seen.wait(60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    double.released.set()
    assert process.returncode == 130
    assert "gpu-bench send .gpu-bench/x-gpu" in said
    double.script = lambda _name, _number: None
    assert main(["send", str(SPOOL)]) == 0
    assert_all_arrived_once(double)


def test_a_spool_in_use_is_left_alone(
    double: PlatformDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    from collector.platform import Spool

    double.fail(None, Fault(status=503))
    assert main([*COLLECT, "--patience", "0"]) == 0
    spool = Spool.open(SPOOL)
    capsys.readouterr()
    assert main(["send", str(SPOOL)]) == 125
    assert "in use by another gpu-bench" in capsys.readouterr().err
    spool.close()
    assert main(["send", str(SPOOL)]) == 0


def test_send_wants_a_spool(double: PlatformDouble, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "work"]) == 125
    assert "work is no spool" in capsys.readouterr().err


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
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
        + ["/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return lambda connection: context.wrap_socket(connection, server_side=True).close()
