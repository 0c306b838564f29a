"""Measure the calling process, its descendants and their GPUs, from inside."""

import os
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import orjson

from probe._errors import ProbeError
from probe._executables import find_executable
from probe._native import ffi, lib

__all__ = ["Sampler"]

_SHORTEST_INTERVAL_S = 0.01


def _c_path(path: "str | os.PathLike[str] | None") -> Any:
    """Return a char * that lives as long as the caller keeps it; NULL for None."""
    return ffi.NULL if path is None else ffi.new("char[]", os.fsencode(path))


def _end(session: Any, owner: int) -> bytes | None:
    """Stop and free a session; return its final trace. A forked child must not touch its parent's."""
    if os.getpid() != owner:
        return None
    size = lib.probe_session_trace_size()
    buffer = ffi.new("char[]", size)
    length = lib.probe_session_stop(session, buffer, size)
    trace = bytes(ffi.buffer(buffer, length)) if length >= 0 else None
    lib.probe_session_free(session)
    return trace


class Sampler:
    """Context manager that measures from entry to exit, on a native thread that never takes the GIL.

    The figures are those of ``gpu-probe``: the same blocks with the same keys and units (docs/trace-format.md), of this
    process and its descendants. The same trace file is written: ``<workdir>/.fusion/trace.json``.

    Args:
        workdir: Directory of the trace file, by default the current one; None writes no file.
        trace_file: Write exactly this file instead.
        interval: Seconds between samples, at least 0.01.
        nvml_library: Load NVML from this file; by default ``GPU_PROBE_NVML_LIBRARY``, else the driver's own.
    """

    def __init__(
        self,
        workdir: "str | os.PathLike[str] | None" = ".",
        *,
        trace_file: "str | os.PathLike[str] | None" = None,
        interval: float = 1.0,
        nvml_library: "str | os.PathLike[str] | None" = None,
    ) -> None:
        if not interval >= _SHORTEST_INTERVAL_S:
            raise ValueError(f"interval is {interval!r} s: at least {_SHORTEST_INTERVAL_S} s")
        self._workdir = workdir
        self._trace_file = trace_file
        self._interval_ns = int(interval * 1e9)
        self._nvml_library = nvml_library or os.environ.get("GPU_PROBE_NVML_LIBRARY") or None
        self._session: Any = None
        self._finalizer: Any = None
        self._trace: Mapping[str, Any] | None = None

    def start(self) -> "Sampler":
        """Start measuring.

        Raises:
            ProbeError: It runs already, or the trace cannot be written to its place.
        """
        if self._session is not None:
            raise ProbeError("this sampler is already running: stop it first, or make another one")
        paths = [
            _c_path(self._workdir),
            _c_path(self._trace_file),
            _c_path(find_executable("gpu-probe-nvml")),
            _c_path(self._nvml_library),
        ]
        config = ffi.new("probe_session_config *", [*paths, self._interval_ns])
        error = ffi.new("char[]", 8192)
        session = lib.probe_session_start(config, error, 8192)
        if session == ffi.NULL:
            raise ProbeError(os.fsdecode(ffi.string(error)))
        self._session = session
        self._trace = None
        # A program that never stops its sampler still leaves a final trace behind.
        self._finalizer = weakref.finalize(self, _end, session, os.getpid())
        return self

    def snapshot(self) -> Mapping[str, Any]:
        """Return the blocks as they stand now (``probe.state`` is ``running``) and write them to the file.

        Raises:
            ProbeError: The sampler is not running, or this is a forked child of the process that started it.
        """
        if self._session is None:
            raise ProbeError("this sampler is not running: use it in a with statement, or call start()")
        size = lib.probe_session_trace_size()
        buffer = ffi.new("char[]", size)
        length = lib.probe_session_snapshot(self._session, buffer, size)
        if length < 0:
            raise ProbeError("this is a forked child of the process that is measured: only that one can be asked")
        snapshot: Mapping[str, Any] = orjson.loads(bytes(ffi.buffer(buffer, length)))
        return snapshot

    def stop(self) -> Mapping[str, Any]:
        """Stop measuring, write the final trace and return its blocks.

        Raises:
            ProbeError: The sampler is not running, or this is a forked child of the process that started it.
        """
        if self._session is None:
            raise ProbeError("this sampler is not running: nothing to stop")
        trace = self._finalizer()
        self._session = None
        if trace is None:
            raise ProbeError("this is a forked child of the process that is measured: only that one can stop it")
        self._trace = orjson.loads(trace)
        return self.trace

    @property
    def trace(self) -> Mapping[str, Any]:
        """The blocks ``proc``, ``gpu``, ``cgroup`` and ``probe``: the final ones after the end, else a snapshot."""
        return self._trace if self._trace is not None else self.snapshot()

    def __enter__(self) -> "Sampler":
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None and os.getpid() == self._finalizer_owner():
            self.stop()

    def _finalizer_owner(self) -> int:
        """Return the process that started the session."""
        peeked = self._finalizer.peek()
        return int(peeked[2][1]) if peeked is not None else -1
