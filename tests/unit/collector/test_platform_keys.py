"""What tells the tasks of a run apart."""

from collector.platform.sink import key_of
from helpers.builders import HASHED_PATH, record


def test_a_task_is_known_by_its_whole_hash_whatever_its_job() -> None:
    jobs = [record({"workdir": f"/w/{HASHED_PATH}", "native_id": job}) for job in ("1", "2", None)]
    assert {key_of(job) for job in jobs} == {HASHED_PATH}


def test_jobs_that_shared_a_directory_are_tasks_of_their_own() -> None:
    jobs = [
        record({"task_id": None, "workdir": "/data", "native_id": job})
        for job in ("7", "7_1", "7_2", None)
    ]
    assert len({key_of(job) for job in jobs}) == 4
    assert key_of(jobs[-1]) == "/data"


def test_a_task_without_a_directory_is_known_by_its_trace() -> None:
    bare = record({"task_id": None})
    first, second = (record({"task_id": None}, probe={"run_id": run}) for run in ("a1", "b2"))
    assert [key_of(task) for task in (first, second)] == ["a1", "b2"]
    assert key_of(bare) not in ("", "None")
    assert key_of(bare) == key_of(record({"task_id": None}))
    assert key_of(bare) != key_of(record({"task_id": None, "exit": 3}))
