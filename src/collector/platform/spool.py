"""The directory that holds what a run has sent, and what it has still to send.

    run.json            the run: its name, its id on the server, how far it has come
    tasks.jsonl         one line a task and state: its number, and what it adds to the run's figures
    pending/N.json      up to 100 tasks that the server has not taken yet
    rejected.jsonl      tasks that the server refused, each with its reason
    lock                held while a program works with the directory

A batch is written before it is sent and removed when the server has taken it, so a crash at any
moment loses nothing; between the two it makes the batch be sent again, which a server ignores.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from collector.errors import SinkRejected
from collector.files import read_bounded, write_atomic
from collector.platform.tally import Entry, Tally, entry_of

__all__ = ["Outgoing", "RunState", "Spool"]

_SCHEMA = 1
_RUN_FILE = "run.json"
_LOCKS_UNKNOWN = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_BATCH_LIMIT_BYTES = 256 * 1024 * 1024
_HIDDEN = b"[secure]"
_SHORTEST_SECRET = 8  # a shorter one is no token, and could be part of a key


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A task object on its way; `key` tells tasks apart, also in a later run of this program."""

    key: str
    task: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A run and how far it has come. Moments are ms since 1970.

    `collected` says that every task of the last collection is in the spool or with the server;
    only then may the run be ended, as nothing can be added to it afterwards.
    """

    name: str
    endpoint: str
    workspace_id: int | None
    session_id: str
    command_line: str
    work_dir: str
    registered_ms: int
    workflow_id: str | None = None
    watch_url: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    begun: bool = False
    collected: bool = False
    completed: bool = False


class Spool:
    """An open spool directory; open it with `create` or `open`, and close it.

    Methods raise `SinkRejected` when the directory cannot be written or read.
    """

    def __init__(self, directory: Path, run: RunState, lock: int, secret: str) -> None:
        self.directory = directory
        self.run = run
        self.tally = Tally()
        self.entries: dict[str, Entry] = {}
        self._lock = lock
        self._secret = secret.encode() if len(secret) >= _SHORTEST_SECRET else b""
        self._pending: list[int] = []
        self._next_batch = 1
        with _translated(directory):
            self._load()
            self._ledger = (directory / "tasks.jsonl").open("ab")

    @classmethod
    def open(cls, directory: Path, *, secret: str = "", new: RunState | None = None) -> "Spool":
        """Open a spool, with a new run if there is none yet; `secret` is never written to it.

        Raises:
            SinkRejected: it is in use, cannot be used, or there is none and no new run is given.
        """
        with _translated(directory):
            if new is not None:
                directory.mkdir(parents=True, exist_ok=True, mode=0o700)
                (directory / "pending").mkdir(exist_ok=True, mode=0o700)
            elif not (directory / _RUN_FILE).exists():
                raise SinkRejected(f"{directory} is no spool: there is no {_RUN_FILE} in it")
            lock = _lock(directory / "lock")
            try:
                run = _read_run(directory / _RUN_FILE, new)
                spool = cls(directory, run, lock, secret)
                spool.save(run)
            except BaseException:
                os.close(lock)
                raise
            return spool

    def close(self) -> None:
        """Give the directory free."""
        self._ledger.close()
        os.close(self._lock)

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of the batches that are to be sent, in their order."""
        return tuple(self._pending)

    @property
    def pending_tasks(self) -> int:
        """How many tasks wait for their last state to be sent."""
        waiting = set(self._pending)
        return sum(entry.batch in waiting for entry in self.entries.values())

    def save(self, run: RunState) -> None:
        """Replace the run."""
        with _translated(self.directory):
            data = orjson.dumps({"schema": _SCHEMA, **asdict(run)}, option=orjson.OPT_INDENT_2)
            self._write(self.directory / _RUN_FILE, data)
        self.run = run

    def advance(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of RunState
        """Replace fields of the run."""
        self.save(replace(self.run, **changes))

    def number_of(self, key: str) -> int:
        """Return the task id of a key: the one that it has, or the next."""
        if key not in self._numbers:
            self._numbers[key] = self._next_id
            self._next_id += 1
        return self._numbers[key]

    def has(self, key: str, status: str) -> bool:
        """Whether this state of a task, or its end, is already here or with the server."""
        known = self.entries.get(key)
        return known is not None and (known.is_terminal or known.status == status)

    def add(self, batch: Iterable[Outgoing]) -> None:
        """Keep a batch, on disk, until it is accepted."""
        number = self._next_batch
        items = list(batch)
        with _translated(self.directory):
            self._write_batch(number, items)
            self._pending.append(number)
            self._next_batch += 1
            self._enter(number, items)
            self._ledger.write(b"".join(_line(item.key, self.entries[item.key]) for item in items))
            self._ledger.flush()

    def read(self, number: int) -> list[Outgoing]:
        """Read a pending batch."""
        with _translated(self.directory):
            return _read_batch(self._path(number))

    def accept(self, number: int, *, left: list[Outgoing] | None = None) -> None:
        """Note that the server has taken a batch, except for what is `left` of it."""
        with _translated(self.directory):
            if left:
                self._write_batch(number, left)
                return
            # What is in the batch must not be only there.
            os.fsync(self._ledger.fileno())
            self._path(number).unlink(missing_ok=True)
            self._pending.remove(number)

    def reject(self, item: Outgoing, reason: str) -> None:
        """Keep a task that the server refused, for people to look at."""
        with _translated(self.directory), (self.directory / "rejected.jsonl").open("ab") as file:
            data = orjson.dumps({"reason": reason, **asdict(item)})
            file.write(self._hide(data) + b"\n")

    def _write_batch(self, number: int, items: Iterable[Outgoing]) -> None:
        content = {"schema": _SCHEMA, "tasks": [asdict(item) for item in items]}
        self._write(self._path(number), orjson.dumps(content))

    def _path(self, number: int) -> Path:
        return self.directory / "pending" / f"{number:08d}.json"

    def _write(self, path: Path, data: bytes) -> None:
        write_atomic(path, self._hide(data), durable=True)

    def _hide(self, data: bytes) -> bytes:
        return data.replace(self._secret, _HIDDEN) if self._secret else data

    def _enter(self, number: int, items: Iterable[Outgoing]) -> None:
        for item in items:
            self._place(item.key, entry_of(item.task, number))

    def _place(self, key: str, entry: Entry) -> None:
        self.tally.replace(self.entries.get(key), entry)
        self.entries[key] = entry

    def _load(self) -> None:
        for line in _whole_lines(self.directory / "tasks.jsonl"):
            key, entry = _entry(line)
            self._place(key, entry)
            self._next_batch = max(self._next_batch, entry.batch + 1)
        paths = (self.directory / "pending").glob("[0-9]*.json")
        self._pending = sorted(int(path.stem) for path in paths)
        for number in self._pending:  # the line of a batch may have been lost with a crash
            self._next_batch = max(self._next_batch, number + 1)
            for item in _read_batch(self._path(number)):
                known = self.entries.get(item.key)
                if known is None or known.batch < number:
                    self._place(item.key, entry_of(item.task, number))
        # Numbers are given where records are made, batches are kept where they are sent from: by
        # two threads, so that neither touches what the other counts by.
        self._numbers = {key: entry.task_id for key, entry in self.entries.items()}
        self._next_id = max(self._numbers.values(), default=0) + 1


def _line(key: str, entry: Entry) -> bytes:
    return orjson.dumps({"key": key, **asdict(entry)}, option=orjson.OPT_APPEND_NEWLINE)


def _entry(line: bytes) -> tuple[str, Entry]:
    parsed = orjson.loads(line)
    key = parsed.pop("key")
    return key, Entry(**{**parsed, "values": tuple(parsed["values"])})


def _whole_lines(path: Path) -> list[bytes]:
    """Read the lines of a file; a last one that was not written to its end is taken away."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    end = data.rfind(b"\n") + 1
    if end < len(data):
        os.truncate(path, end)
    return data[:end].splitlines()


def _read_batch(path: Path) -> list[Outgoing]:
    content = orjson.loads(read_bounded(path, limit_bytes=_BATCH_LIMIT_BYTES))
    return [Outgoing(key=item["key"], task=item["task"]) for item in content["tasks"]]


def _read_run(path: Path, new: RunState | None) -> RunState:
    try:
        content = orjson.loads(read_bounded(path))
    except FileNotFoundError:
        if new is None:
            raise
        return new
    known = {field.name for field in fields(RunState)}
    return RunState(**{key: value for key, value in content.items() if key in known})


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise SinkRejected(f"{path.parent} is in use by another gpu-bench") from error
    except OSError as error:
        if error.errno not in _LOCKS_UNKNOWN:  # a file system without locks is used without
            os.close(descriptor)
            raise
    return descriptor


@contextlib.contextmanager
def _translated(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise SinkRejected(
            f"the spool {directory} cannot be used: {reason}; name another with --spool"
        ) from error
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise SinkRejected(f"the spool {directory} is damaged: {error}") from error
