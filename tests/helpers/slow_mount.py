"""A file system of one directory in memory that stops answering when told to, over raw FUSE."""

import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

__all__ = ["SlowMount"]

_ROOT = 1
_IN_HEADER = struct.Struct("<IIQQIIII")
_ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
_LOOKUP, _FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _STATFS = 1, 2, 3, 4, 14, 15, 16, 17
_RELEASE, _FLUSH, _INIT, _OPENDIR, _RELEASEDIR, _CREATE, _BATCH_FORGET = 18, 25, 26, 27, 29, 35, 42
_MKDIR, _UNLINK, _RENAME = 9, 10, 12
_SILENT = frozenset({_FORGET, _BATCH_FORGET, 36})
# Without an answer to a flush, no process that has the file open can exit, wrapped or not.
_UNAWAITED = _SILENT | {_INIT, _RELEASE, _RELEASEDIR, _FLUSH}


class SlowMount:
    """A mount in a thread of this process; `hang` is when it no longer answers whoever writes,
    `dead` when it answers nothing.

    It knows no links, no directories, and no renames with flags: like many network file systems.

    Raises:
        OSError: not permitted, or no FUSE here.
    """

    def __init__(self, directory: Path) -> None:
        self.files: dict[str, bytearray] = {}
        self.hang = threading.Event()
        self.dead = threading.Event()
        self._nodes: dict[int, str] = {}
        self._held: list[int] = []
        self._directory = directory
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        flags = 2 | 4  # nosuid, nodev
        target = str(directory).encode()
        if self._libc.mount(b"slow", target, b"fuse.slow", flags, options.encode()) != 0:
            code = ctypes.get_errno()
            os.close(self._device)
            raise OSError(code, os.strerror(code))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> "SlowMount":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
        self._libc.umount2(str(self._directory).encode(), 2)  # detached: gone with its last user
        self._thread.join(timeout=10)
        os.close(self._device)

    def release(self) -> None:
        """Answer again, and those who wait with an error."""
        self.hang.clear()
        self.dead.clear()
        while self._held:
            self._reply(self._held.pop(), errno.EIO)

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self._device, 1 << 20)
            except OSError:
                return
            _, code, unique, node, *_ = _IN_HEADER.unpack_from(request)
            hangs = self.hang.is_set() and code in (_WRITE, _CREATE, _MKDIR)
            if hangs or (self.dead.is_set() and code not in _UNAWAITED):
                self._held.append(unique)
            elif code not in _SILENT:
                self._reply(unique, self._answer(code, node, request[_IN_HEADER.size :]))

    def _reply(self, unique: int, answer: bytes | int) -> None:
        failed = answer if isinstance(answer, int) else 0
        body = answer if isinstance(answer, bytes) else b""
        with contextlib.suppress(OSError):  # whoever asked may be gone
            os.write(self._device, struct.pack("<IiQ", 16 + len(body), -failed, unique) + body)

    def _answer(self, code: int, node: int, body: bytes) -> bytes | int:
        answers: dict[int, Callable[[int, bytes], bytes | int]] = {
            _INIT: lambda _node, _body: (
                struct.pack("<IIIIHHIIHHI", 7, 31, 0, 0, 12, 9, 65536, 1, 16, 0, 0) + bytes(28)
            ),
            _LOOKUP: lambda _node, data: self._entry(data.rstrip(b"\0").decode()),
            _GETATTR: lambda at, _body: struct.pack("<QII", 0, 0, 0) + self._attributes(at),
            _SETATTR: self._set_attributes,
            _OPENDIR: lambda _node, _body: struct.pack("<QII", 0, 0, 0),
            _OPEN: lambda _node, _body: struct.pack("<QII", 0, 1, 0),
            _CREATE: self._create,
            _WRITE: self._write,
            _READ: self._read,
            _RENAME: self._rename,
            _UNLINK: self._unlink,
            _FLUSH: lambda _node, _body: b"",
            _RELEASE: lambda _node, _body: b"",
            _RELEASEDIR: lambda _node, _body: b"",
            _STATFS: lambda _node, _body: bytes(80),
        }
        handler = answers.get(code)
        return errno.ENOSYS if handler is None else handler(node, body)

    def _node_of(self, name: str) -> int:
        for node, known in self._nodes.items():
            if known == name:
                return node
        node = max(self._nodes, default=_ROOT) + 1
        self._nodes[node] = name
        return node

    def _attributes(self, node: int) -> bytes:
        is_root = node == _ROOT
        mode = stat.S_IFDIR | 0o755 if is_root else stat.S_IFREG | 0o644
        size = 0 if is_root else len(self.files.get(self._nodes.get(node, ""), b""))
        owner = (os.getuid(), os.getgid())
        return _ATTR.pack(node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, *owner, 0, 4096, 0)

    def _entry(self, name: str) -> bytes | int:
        if name not in self.files:
            return errno.ENOENT
        node = self._node_of(name)
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _set_attributes(self, node: int, body: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        if valid & 8:
            del self.files[self._nodes[node]][size:]
        return struct.pack("<QII", 0, 0, 0) + self._attributes(node)

    def _create(self, _node: int, body: bytes) -> bytes | int:
        name = body[16:].rstrip(b"\0").decode()
        self.files[name] = bytearray()
        entry = self._entry(name)
        return entry + struct.pack("<QII", 0, 1, 0) if isinstance(entry, bytes) else entry

    def _write(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        self.files[self._nodes[node]][offset : offset + size] = body[40 : 40 + size]
        return struct.pack("<II", size, 0)

    def _read(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(self.files[self._nodes[node]][offset : offset + size])

    def _rename(self, _node: int, body: bytes) -> bytes | int:
        old, new = body[8:].split(b"\0")[:2]
        if old.decode() not in self.files:
            return errno.ENOENT
        self.files[new.decode()] = self.files.pop(old.decode())
        self._nodes = {
            node: new.decode() if name == old.decode() else name
            for node, name in self._nodes.items()
            if name != new.decode()
        }
        return b""

    def _unlink(self, _node: int, body: bytes) -> bytes | int:
        name = body.rstrip(b"\0").decode()
        return b"" if self.files.pop(name, None) is not None else errno.ENOENT
