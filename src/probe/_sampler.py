"""Measure the calling process, its descendants and their GPUs, from inside."""

import logging
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeAlias

import orjson

from probe._errors import ProbeError
from probe._executables import find_executable
from probe._native import ffi, lib

__all__ = ["Sampler"]

_LOG = logging.getLogger(__name__)
_SHORTEST_INTERVAL_S = 0.01
_LONGEST_INTERVAL_S = 86400.0

_Pointer: TypeAlias = Any  # cffi's values have no types of their own
_Session: TypeAlias = Any
_Path: TypeAlias = str | os.PathLike[str]


def _c_path(path: _Path | None) -> _Pointer:
    """Return a char * that lives as long as the caller keeps it; NULL for None."""
    if path is None:
        return ffi.NULL
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError(f"{path!r}: a path has no null character")
    return ffi.new("char[]", encoded)


def _read(call: Callable[[_Session, _Pointer, int], int], session: _Session) -> bytes | None:
    """Let a C function fill a buffer with the trace; None when it has nothing to give."""
    size = lib.probe_session_trace_size()
    buffer = ffi.new("char[]", size)
    length = call(session, buffer, size)
    return bytes(ffi.buffer(buffer, length)) if length >= 0 else None


def _end(session: _Session, owner: int) -> bytes | None:
    """Stop and free a session; return its final trace. A forked child leaves it alone."""
    if os.getpid() != owner:
        return None
    trace = _read(lib.probe_session_stop, session)
    problem = os.fsdecode(ffi.string(lib.probe_session_file_error(session)))
    if problem:
        _LOG.warning("the final trace was not written: %s", problem)
    lib.probe_session_free(session)
    return trace


class Sampler:
    """Context manager that measures on a native thread, which never takes the GIL.

    The figures are those of ``gpu-probe``, the same blocks with the same keys and units
    (docs/trace-format.md), of this process and its descendants from entry to exit. The same
    trace file is written: ``<workdir>/.fusion/trace.json``.

    Where there is a GPU, the process that talks to its driver is a child of this one while the
    sampler runs: wait for your own children by their pids, not with ``os.wait()``.

    A file system that does not answer delays start, snapshot and stop by two seconds at most;
    stop still returns the final trace, and logs that it was not written. The thread that hangs
    stays behind. Where the kernel does not let its call be killed (FUSE, failing disks), the
    interpreter's exit waits for the file system; that of ``gpu-probe`` does not.

    Args:
        workdir: Directory of the trace file, by default the current one; None writes no file.
        trace_file: Write exactly this file instead.
        interval: Seconds between samples, at least 0.01.
        nvml_library: Load NVML from this file; by default from ``GPU_PROBE_NVML_LIBRARY``,
            else the driver's own.
        gpus: Which devices the gpu block is about: ``auto`` (as CUDA_VISIBLE_DEVICES says),
            ``none``, ``all``, or NVML's indices and UUIDs joined by commas; by default from
            ``GPU_PROBE_GPUS``, else ``auto``.
    """

    def __init__(
        self,
        workdir: _Path | None = ".",
        *,
        trace_file: _Path | None = None,
        interval: float = 1.0,
        nvml_library: _Path | None = None,
        gpus: str | None = None,
    ) -> None:
        if isinstance(interval, bool) or not isinstance(interval, int | float):
            raise TypeError(f"interval is {interval!r}: give a number of seconds, such as 0.5")
        if not _SHORTEST_INTERVAL_S <= interval <= _LONGEST_INTERVAL_S:
            raise ValueError(
                f"interval is {interval!r} s: at least {_SHORTEST_INTERVAL_S} s, at most a day"
            )
        self._workdir = workdir
        self._trace_file = trace_file
        self._interval_ns = int(interval * 1e9)
        self._nvml_library = nvml_library or os.environ.get("GPU_PROBE_NVML_LIBRARY") or None
        self._gpus = gpus or os.environ.get("GPU_PROBE_GPUS") or None
        self._owner = -1
        self._lock = threading.Lock()  # no snapshot while the session is taken down
        self._session: _Session = None
        self._finalizer: Callable[[], bytes | None] = lambda: None
        self._trace: Mapping[str, Any] | None = None

    def start(self) -> "Sampler":
        """Start measuring.

        Raises:
            ProbeError: It runs already, the trace cannot be written to its place, or gpus is
                none of the above.
        """
        if self._session is not None:
            raise ProbeError("this sampler is already running: stop it first, or make another one")
        paths = [
            _c_path(self._workdir),
            _c_path(self._trace_file),
            _c_path(find_executable("gpu-probe-nvml")),
            _c_path(self._nvml_library),
            _c_path(self._gpus),
        ]
        config = ffi.new("probe_session_config *", [*paths, self._interval_ns])
        error = ffi.new("char[]", 8192)
        session = lib.probe_session_start(config, error, 8192)
        if session == ffi.NULL:
            raise ProbeError(os.fsdecode(ffi.string(error)))
        self._owner = os.getpid()
        self._session = session
        self._trace = None
        # A program that never stops its sampler still leaves a final trace behind.
        self._finalizer = weakref.finalize(self, _end, session, self._owner)
        return self

    def snapshot(self) -> Mapping[str, Any]:
        """Return the blocks as they stand now, and write them to the file.

        Raises:
            ProbeError: The sampler is not running, or this is a forked child of its process.
        """
        self._check_usable()
        with self._lock:
            if self._session is None:
                raise ProbeError("the sampler was stopped by another thread meanwhile")
            trace = _read(lib.probe_session_snapshot, self._session)
        if trace is None:
            raise ProbeError("the sampler was stopped by another thread meanwhile")
        snapshot: Mapping[str, Any] = orjson.loads(trace)
        return snapshot

    def stop(self) -> Mapping[str, Any]:
        """Stop measuring, write the final trace and return its blocks.

        Raises:
            ProbeError: The sampler is not running, or this is a forked child of its process.
        """
        self._check_usable()
        with self._lock:
            if self._session is None:
                raise ProbeError("the sampler was stopped by another thread meanwhile")
            self._session = None
            trace = self._finalizer()
        self._trace = orjson.loads(trace or b"{}")
        return self._trace

    @property
    def trace(self) -> Mapping[str, Any]:
        """The blocks ``proc``, ``gpu``, ``cgroup`` and ``probe``: after the end the final ones."""
        return self._trace if self._trace is not None else self.snapshot()

    def _check_usable(self) -> None:
        if self._session is None:
            raise ProbeError("this sampler is not running: use it in a with statement")
        if os.getpid() != self._owner:
            raise ProbeError("this is a forked child: ask in the process that is measured")

    def __enter__(self) -> "Sampler":
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None and os.getpid() == self._owner:
            self.stop()
