"""Waiting for files to be replaced, by inotify: no moment is missed, and nothing is polled."""

import ctypes
import os
import select
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Watched", "watch"]

_EVENT = struct.Struct("iIII")  # inotify(7): watch, mask, cookie, length of the name
IN_MODIFY, IN_MOVED_TO, IN_CREATE = 0x2, 0x80, 0x100


@dataclass(frozen=True, slots=True)
class Watched:
    """A directory whose entries are watched."""

    fd: int

    def wait(self, timeout_s: float) -> bool:
        """Wait until something was created, replaced or written there; False: nothing was."""
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return False
        os.read(self.fd, 65536)
        return True

    def names(self) -> set[str]:
        """Read which entries were created, replaced or written since the last look."""
        try:
            events = os.read(self.fd, 65536)
        except BlockingIOError:
            return set()
        found = set()
        while events:
            *_, length = _EVENT.unpack_from(events)
            name = events[_EVENT.size : _EVENT.size + length]
            found.add(os.fsdecode(name.rstrip(b"\0")))
            events = events[_EVENT.size + length :]
        return found

    def wait_for_lines(self, path: Path, words: str, count: int) -> None:
        """Wait until a file there has so many lines with these words; ten seconds at most."""
        deadline = time.monotonic() + 10
        while not path.exists() or path.read_text().count(words) < count:
            assert self.wait(deadline - time.monotonic()), f"not {count} lines with {words!r}"


@contextmanager
def watch(directory: Path) -> Iterator[Watched]:
    """Watch a directory until the block ends. OSError: the kernel gives no more watches."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    mask = IN_MODIFY | IN_MOVED_TO | IN_CREATE
    if fd < 0 or libc.inotify_add_watch(fd, os.fsencode(directory), mask) < 0:
        raise OSError(ctypes.get_errno(), f"inotify: {directory}")
    try:
        yield Watched(fd)
    finally:
        os.close(fd)
