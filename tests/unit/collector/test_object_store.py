"""Task directories in object stores; the local and the in-memory one stand for all."""

import sys
from pathlib import Path

import pytest

from collector.cli import main
from collector.collect import CollectOptions, collect_directories
from collector.errors import CollectFailed
from helpers.builders import HASHED_PATH, gpu_block, task_directory, trace

ON = CollectOptions(fusion="on")


def test_without_obstore_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(CollectFailed, match=r"gpu-probe\[objects\]"):
        collect_directories([f"file://{tmp_path}"], ON)


def test_obstore_is_imported_only_for_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    task_directory(tmp_path / "t", exit_code=0)
    assert len(collect_directories([tmp_path], ON)) == 1


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a whole task, one without trace, and what is no task."""
    pytest.importorskip("obstore", reason="obstore is not installed: pip install obstore")
    task_directory(tmp_path / HASHED_PATH, task={"task_id": "2"}, trace=trace(), exit_code=1)
    task_directory(tmp_path / "plain", command_trace="nextflow.trace/v2\nrchar=7\n", exit_code=0)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "big.bin").write_bytes(b"x" * 100)
    return tmp_path


def test_a_store_gives_the_records_that_its_files_would(tree: Path) -> None:
    stored = collect_directories([f"file://{tree}"], ON)
    local = collect_directories([tree], ON)
    assert [record["workdir"] for record in stored] == [
        f"file://{tree}/{HASHED_PATH}",
        f"file://{tree}/plain",
    ]
    for record in (*stored, *local):
        record["workdir"] = None
    assert stored == local
    assert stored[0]["hash"] == "ab/cdef01"
    assert stored[0].gpu_metrics == gpu_block()
    assert stored[1]["rchar"] == 7


def test_the_command_line_takes_urls_beside_directories(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    assert main(["collect", str(tree / "plain"), f"file://{tree}/ab", "--to", str(out)]) == 0
    assert out.read_text().count("\n") == 2


def test_a_file_that_vanishes_costs_only_itself(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import obstore

    get = obstore.get

    def fail(store: object, path: str) -> object:
        if path.endswith("trace.json"):
            raise FileNotFoundError(path)
        return get(store, path)  # type: ignore[arg-type]

    monkeypatch.setattr(obstore, "get", fail)
    record = collect_directories([f"file://{tree}"], ON)[0]
    assert (record["status"], record.gpu_metrics) == ("FAILED", None)


@pytest.mark.parametrize("url", ["nope://x/y", "file:///none/at/all"])
def test_a_store_that_cannot_be_opened_or_listed_is_one_clear_error(tree: Path, url: str) -> None:
    assert tree.is_dir()
    with pytest.raises(CollectFailed, match=url):
        collect_directories([url], ON)


def test_a_watch_refuses_urls(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "s3://b/w", "--watch"]) == 125
    assert "--watch follows directories" in capsys.readouterr().err


def test_a_memory_store_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    obstore = pytest.importorskip("obstore", reason="obstore is not installed")
    from obstore.store import MemoryStore

    store = MemoryStore()
    obstore.put(store, "w/a/.exitcode", b"3")
    obstore.put(store, ".exitcode", b"0")
    monkeypatch.setattr("obstore.store.from_url", lambda _url, **_limits: store)
    records = collect_directories(["s3://bucket/"], ON)
    assert [(record["workdir"], record["exit"]) for record in records] == [
        ("s3://bucket", 0),
        ("s3://bucket/w/a", 3),
    ]
