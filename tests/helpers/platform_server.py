"""A strict double of Seqera Platform's trace endpoints, with the faults that a test asks for."""

import base64
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

from helpers.platform_types import violation

TOKEN = base64.b64encode(b'{"tid": 5}.0123456789abcdef0123456789abcdef01234567').decode()
TERMINAL = frozenset({"COMPLETED", "FAILED", "ABORTED", "CACHED"})
_ORDER = {"NEW": 0, "SUBMITTED": 1, "RUNNING": 2}
_MOST_TASKS = 100
_PATH = re.compile(r"/trace/(?:(create)|([^/]+)/(begin|progress|heartbeat|complete))")

# `drop` closes without a word, `half` cuts the answer, `silent` waits; with `after`, once the
# request has been carried out.
FaultKind: TypeAlias = Literal["status", "drop", "half", "silent", "page", "ko", "drip"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with one call."""

    kind: FaultKind = "status"
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"message": "scripted"}'
    after: bool = False


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request as it came."""

    call: str
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: dict[str, Any]
    workflow_id: str | None


@dataclass
class Run:
    """What the server knows of a run."""

    begun: bool = False
    completed: bool = False
    tasks: dict[int, dict[str, Any]] = field(default_factory=dict)
    ends: Counter[int] = field(default_factory=Counter)  # terminal updates that counted
    dropped: int = 0
    metrics: list[dict[str, Any]] = field(default_factory=list)


class PlatformDouble:
    """The server's state; `script` is asked before each call whether it is to fail."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.runs: dict[str, Run] = {}
        self.script: Callable[[str, int], Fault | None] = lambda _call, _number: None
        self.endpoint = ""
        self.authorizations = {f"Bearer {TOKEN}"}
        self.released = threading.Event()
        self._lock = threading.Lock()

    def fail(self, *faults: Fault | None, call: str | None = None) -> None:
        """Let the next calls (of one kind) fail as listed; those after them succeed."""
        left = list(faults)

        def script(name: str, _number: int) -> Fault | None:
            return left.pop(0) if left and call in (None, name) else None

        self.script = script

    def bodies(self, call: str) -> list[dict[str, Any]]:
        return [made.body for made in self.calls if made.call == call]

    @property
    def run(self) -> Run:
        """The only run that was begun."""
        (run,) = (run for run in self.runs.values() if run.begun)
        return run

    def receive(self, made: Call) -> tuple[Fault | None, int, dict[str, Any]]:
        """Keep a call; return its fault, if any, and the answer."""
        with self._lock:
            self.calls.append(made)
            fault = self.script(made.call, len(self.calls))
            if fault is not None and not fault.after:
                return fault, 0, {}
            return fault, *self._answer(made)

    def _answer(self, made: Call) -> tuple[int, dict[str, Any]]:
        if made.headers.get("authorization") not in self.authorizations:
            return 401, {"message": "Unauthorized"}
        if made.method != ("POST" if made.call == "create" else "PUT"):
            return 405, {"message": "Method not allowed"}
        wrong = violation(made.call, made.body)
        if wrong is not None:
            return 400, {"message": f"{made.call}: {wrong}"}
        if made.workflow_id is None:
            return self._create(made)
        run = self.runs.get(made.workflow_id)
        if run is None:
            return 400, {"message": f"Unknown workflow Id={made.workflow_id}"}
        return getattr(self, f"_{made.call}")(run, made)  # type: ignore[no-any-return]

    def _create(self, made: Call) -> tuple[int, dict[str, Any]]:
        if made.body.get("workflowId") not in (None, *self.runs):
            return 400, {"message": "Unknown workflow"}
        workflow_id = f"run{len(self.runs) + 1}"
        self.runs[workflow_id] = Run()
        return 200, {"workflowId": workflow_id, "watchUrl": "https://watch.example/1"}

    def _begin(self, run: Run, made: Call) -> tuple[int, dict[str, Any]]:
        run.begun = True
        return 200, {"status": "OK", "workflowId": made.workflow_id, "watchUrl": None}

    def _progress(self, run: Run, made: Call) -> tuple[int, dict[str, Any]]:
        tasks = made.body.get("tasks", [])
        if len(tasks) > _MOST_TASKS:
            return 400, {"message": "Workflow trace request too big"}
        for task in tasks:
            self._update(run, task)
        return 200, {"status": "OK", "workflowId": made.workflow_id}

    def _heartbeat(self, _run: Run, _made: Call) -> tuple[int, dict[str, Any]]:
        return 200, {"message": "OK"}

    def _complete(self, run: Run, made: Call) -> tuple[int, dict[str, Any]]:
        run.completed = True
        run.metrics = made.body.get("metrics", [])
        return 200, {"status": "OK", "workflowId": made.workflow_id}

    @staticmethod
    def _update(run: Run, task: dict[str, Any]) -> None:
        """Take a task's state, or drop it without a word, as the server does."""
        known, status = run.tasks.get(task["taskId"]), task["status"]
        if known is not None and (
            known["status"] in TERMINAL
            or (status in _ORDER and _ORDER[status] < _ORDER[known["status"]])
        ):
            run.dropped += 1
            return
        if status == "CACHED":  # its figures are looked for where the session's are: nowhere
            task = {"taskId": task["taskId"], "status": status}
        run.tasks[task["taskId"]] = {**(known or {}), **task}
        run.ends[task["taskId"]] += status in TERMINAL


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    double: PlatformDouble

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        match = _PATH.fullmatch(parts.path)
        if match is None:
            self._reply(404, b"<html><title>404\n Not Found</title></html>")
            return
        made = Call(
            call=match[1] or match[3],
            method=self.command,
            path=self.path,
            query=parse_qs(parts.query),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=json.loads(data),
            workflow_id=match[2],
        )
        fault, status, answer = self.double.receive(made)
        if fault is None:
            self._reply(status, json.dumps(answer).encode())
        else:
            self._misbehave(fault)

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _misbehave(self, fault: Fault) -> None:
        if fault.kind == "status":
            self._reply(fault.status, fault.body, fault.headers)
            return
        if fault.kind == "page":
            self._reply(200, b"<html><title>Log in</title></html>")
            return
        if fault.kind == "ko":
            self._reply(200, b'{"status": "KO"}')
            return
        if fault.kind == "half":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"status": ')
        elif fault.kind == "drip":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.double.released.wait(0.02):
                self.wfile.write(b"X-More: 1\r\n"[:1])
        elif fault.kind == "silent":
            self.double.released.wait(30)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no error of the double's."""


@contextmanager
def platform_double() -> Iterator[PlatformDouble]:
    """Serve a double on the loopback interface."""
    double = PlatformDouble()
    handler = type("Handler", (_Handler,), {"double": double})
    with _Server(("127.0.0.1", 0), handler) as server:
        double.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield double
        finally:
            double.released.set()
            server.shutdown()
            thread.join()
