import os
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from collector.errors import SinkRejected
from collector.platform import RunState, Spool
from collector.platform.spool import Outgoing
from collector.platform.tally import metrics_of
from collector.platform.window import BATCH_TASKS, Window

RUN = RunState(
    name="n-gpu",
    endpoint="https://x.example",
    workspace_id=None,
    session_id="s",
    command_line="c",
    work_dir="w",
    registered_ms=1,
)
SECRET = "0123456789abcdef"


def item(number: int, status: str = "COMPLETED", **task: Any) -> Outgoing:  # noqa: ANN401
    return Outgoing(key=f"k{number}", task={"taskId": number, "status": status, **task})


def opened(directory: Path) -> Spool:
    return Spool.open(directory, secret=SECRET, new=RUN)


def test_3_6_a_hundred_tasks_are_due_at_once_and_fewer_a_second_after_the_last_request() -> None:
    window = Window(last_sent=10.0)
    assert window.due_in(10.0) == 60.0  # a sign of life
    window.add(item(1))
    assert window.due_in(10.25) == 0.75
    for number in range(2, 101):
        window.add(item(number))
    assert window.due_in(10.25) == 0.0
    assert len(window.take(10.5)) == 100
    assert window.due_in(11.0) == 59.5


def test_3_6_one_request_has_a_hundred_tasks_at_most_the_oldest_first() -> None:
    window = Window(last_sent=0.0)
    for number in range(250):
        window.add(item(number))
    batches = [window.take(1.0), window.take(1.0), window.take(1.0)]
    assert [len(batch) for batch in batches] == [BATCH_TASKS, BATCH_TASKS, 50]
    assert [entry.task["taskId"] for batch in batches for entry in batch] == list(range(250))


def test_3_6_of_each_task_the_last_record_is_sent() -> None:
    window = Window(last_sent=0.0)
    window.add(item(1, "SUBMITTED"))
    window.add(item(2))
    window.add(item(1, "RUNNING"))
    window.add(item(1, "COMPLETED"))
    assert [(sent.key, sent.task["status"]) for sent in window.take(1.0)] == [
        ("k2", "COMPLETED"),
        ("k1", "COMPLETED"),
    ]


def test_a_request_is_bounded_in_bytes_but_a_task_is_never_cut() -> None:
    window = Window(last_sent=0.0)
    for number in range(3):
        window.add(item(number, script="x" * 700_000))
    assert [len(window.take(1.0)) for _ in range(3)] == [1, 1, 1]


def test_ids_are_given_by_key_and_kept(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    assert [spool.number_of(key) for key in ("k1", "k2", "k1", "k3")] == [1, 2, 1, 3]
    spool.add([item(1), item(2)])
    spool.accept(1)
    spool.close()
    spool = opened(tmp_path / "s")
    assert [spool.number_of(key) for key in ("k2", "new", "k1")] == [2, 3, 1]
    spool.close()


def test_a_batch_is_kept_until_it_is_accepted(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    spool.add([item(1), item(2)])
    spool.add([item(3)])
    spool.close()
    spool = opened(tmp_path / "s")
    assert list(spool.pending) == [1, 2]
    assert spool.pending_tasks == 3
    assert spool.read(1) == [item(1), item(2)]
    spool.accept(1)
    assert list(spool.pending) == [2]
    spool.close()
    spool = opened(tmp_path / "s")
    assert list(spool.pending) == [2]
    assert spool.pending_tasks == 1
    assert spool.has("k1", "COMPLETED")
    spool.add([item(4)])
    assert list(spool.pending) == [2, 3]
    spool.close()


def test_what_a_task_adds_to_the_run_outlives_the_program(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    spool.add([item(1, process="p", name="t", gpuMetrics={"pct": 5}, realtime=7)])
    spool.accept(1)
    expected = metrics_of(spool.entries)
    assert expected[0]["gpuUsage"]["max"] == 5
    progress = spool.tally.progress()
    spool.close()
    spool = opened(tmp_path / "s")
    assert metrics_of(spool.entries) == expected
    assert spool.tally.progress() == progress
    spool.close()


@pytest.mark.parametrize("lost", range(0, 400, 7))
def test_a_crash_at_any_byte_of_the_ledger_loses_no_task(tmp_path: Path, lost: int) -> None:
    directory = tmp_path / "s"
    spool = opened(directory)
    spool.add([item(1), item(2)])
    spool.close()
    ledger = directory / "tasks.jsonl"
    os.truncate(ledger, max(0, ledger.stat().st_size - lost))

    spool = opened(directory)
    assert sorted(spool.entries) == ["k1", "k2"]
    assert spool.number_of("k3") == 3
    spool.add([item(3)])
    spool.close()
    spool = opened(directory)
    assert sorted(spool.entries) == ["k1", "k2", "k3"]
    assert spool.pending_tasks == 3
    spool.close()


def test_a_temporary_file_of_a_crash_is_no_batch(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    spool.add([item(1)])
    spool.close()
    (tmp_path / "s/pending/.00000002.json.77.tmp").write_bytes(b'{"tas')
    spool = opened(tmp_path / "s")
    assert spool.pending == (1,)
    spool.close()


def test_the_secret_is_never_written_and_files_are_for_the_owner(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    spool.add([item(1, script=f"curl -H 'Bearer {SECRET}'")])
    spool.reject(item(2, script=SECRET), f"no {SECRET}")
    spool.close()
    for path in (tmp_path / "s").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes()
    assert spool.directory.stat().st_mode & 0o077 == 0


def test_a_state_that_is_known_need_not_be_sent_and_an_end_is_final(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    spool.add([item(1, "RUNNING"), item(2, "COMPLETED")])
    assert spool.has("k1", "RUNNING")
    assert not spool.has("k1", "COMPLETED")
    assert spool.has("k2", "FAILED")
    assert not spool.has("k3", "RUNNING")
    spool.close()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"name": 1}', b"\xff"])
def test_a_damaged_spool_is_said_to_be_one(tmp_path: Path, content: bytes) -> None:
    opened(tmp_path / "s").close()
    (tmp_path / "s/run.json").write_bytes(content)
    with pytest.raises(SinkRejected, match="is damaged"):
        Spool.open(tmp_path / "s")
    (tmp_path / "s/run.json").unlink()
    opened(tmp_path / "s").close()  # and its lock was given back


def test_a_spool_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkRejected, match="cannot be used: Not a directory"):
        opened(tmp_path / "file/s")


def test_keys_of_a_newer_program_are_no_obstacle(tmp_path: Path) -> None:
    opened(tmp_path / "s").close()
    path = tmp_path / "s/run.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "later": 1}))
    spool = Spool.open(tmp_path / "s")
    assert spool.run == RUN
    spool.close()


def test_ids_stay_apart_when_two_threads_work(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    given: list[int] = []

    def number() -> None:
        given.extend(spool.number_of(f"k{index}") for index in range(1, 3001))

    thread = threading.Thread(target=number)
    thread.start()
    for index in range(1, 40):
        spool.add([Outgoing(key=f"k{index}", task={"taskId": index, "status": "COMPLETED"})])
    thread.join()
    spool.close()
    assert len(set(given)) == 3000
