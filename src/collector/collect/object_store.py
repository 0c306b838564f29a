"""Task directories in an object store, such as `s3://bucket/work`.

The few small files that matter are fetched, one task directory after another, and read like those
of any other. Needs the extra `gpu-probe[objects]`, which brings obstore.
"""

import logging
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from collector.collect.assembly import LISTED_FILES, collect_listed
from collector.collect.directories import MARKER_FILES, list_directory
from collector.collect.identity import identify
from collector.collect.options import CollectOptions
from collector.errors import CollectFailed
from collector.files import FILE_SIZE_LIMIT_BYTES
from collector.record import TraceRecord
from collector.trace import TRACE_FILE

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["is_url", "stream_store"]

_LOG = logging.getLogger(__name__)
_TRACE_DIRECTORY = TRACE_FILE.parent.name
_AT_ONCE = 16
_RETRIES = 3

_Objects: TypeAlias = dict[str, list[str]]


def is_url(root: object) -> bool:
    """Say whether a root is a URL, not a path."""
    return isinstance(root, str) and "://" in root


def stream_store(url: str, options: CollectOptions) -> Iterator[TraceRecord]:
    """Make one record of each task directory below a URL, in the order of the names.

    Raises:
        CollectFailed: obstore is not installed, or the store cannot be listed.
    """
    store = _open(url, options.patience_s)
    try:
        directories = _task_directories(store)
    except Exception as error:  # obstore's errors have no common base
        raise CollectFailed(f"{url}: cannot be listed: {error}") from error

    def read(directory: str) -> list[TraceRecord]:
        place = f"{url.rstrip('/')}/{directory}".rstrip("/")
        return _collect(store, directories[directory], place, options)

    waiting = iter(sorted(directories))
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="collect") as pool:
        while some := list(islice(waiting, 4 * _AT_ONCE)):
            for records in pool.map(read, some):
                yield from records


def _open(url: str, patience_s: float) -> "ObjectStore":
    try:
        from obstore.store import from_url  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise CollectFailed(
            f"{url}: reading object stores needs obstore: pip install 'gpu-probe[objects]'"
        ) from error
    limits: dict[str, Any] = {}
    if not url.startswith(("file:", "memory:")):
        patience = timedelta(seconds=patience_s)
        limits["client_options"] = {"timeout": patience}
        limits["retry_config"] = {"max_retries": _RETRIES, "retry_timeout": patience}
    try:
        return from_url(url, **limits)
    except Exception as error:
        raise CollectFailed(f"{url}: {error}") from error


def _task_directories(store: "ObjectStore") -> _Objects:
    """Return the paths of the files that matter, by task directory."""
    import obstore  # noqa: PLC0415 - an optional extra

    found: _Objects = {}
    tasks = set()
    for chunk in obstore.list(store):
        for item in chunk:
            path = PurePosixPath(item["path"])
            in_trace = path.parent.name == _TRACE_DIRECTORY
            directory = str(path.parent.parent if in_trace else path.parent)
            if not in_trace and path.name not in LISTED_FILES | MARKER_FILES:
                continue
            if item["size"] > FILE_SIZE_LIMIT_BYTES:
                _LOG.debug("%s: larger than %d bytes; left out", path, FILE_SIZE_LIMIT_BYTES)
                continue
            if in_trace or path.name in MARKER_FILES:
                tasks.add(directory)
            found.setdefault(directory, []).append(item["path"])
    return {_without_dot(name): paths for name, paths in found.items() if name in tasks}


def _without_dot(directory: str) -> str:
    return "" if directory == "." else directory


def _collect(
    store: "ObjectStore", paths: Iterable[str], place: str, options: CollectOptions
) -> list[TraceRecord]:
    with tempfile.TemporaryDirectory(prefix="gpu-bench-") as scratch:
        directory = Path(scratch)
        for path in paths:
            _fetch(store, path, directory)
        try:
            return collect_listed(list_directory(scratch), options, place=place)
        except OSError as error:
            _LOG.warning("%s: %s; the record is incomplete", place, error)
            return [identify(place)]


def _fetch(store: "ObjectStore", path: str, directory: Path) -> None:
    import obstore  # noqa: PLC0415 - an optional extra

    source = PurePosixPath(path)
    in_trace = source.parent.name == _TRACE_DIRECTORY
    target = directory / (_TRACE_DIRECTORY if in_trace else "") / source.name
    try:
        data = bytes(obstore.get(store, path).bytes())
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
    except Exception as error:  # obstore's errors have no common base; one file costs only itself
        _LOG.debug("%s: cannot be fetched: %s", path, error)
