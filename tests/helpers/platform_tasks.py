"""A tree of finished tasks, and the proof that all of them have arrived."""

from pathlib import Path

from helpers.builders import task_directory, trace
from helpers.platform_server import TOKEN, PlatformDouble

TASKS = 250
COLLECT = ["collect", "work", "--platform", "--name", "x"]
SPOOL = Path(".gpu-bench/x-gpu")


def make_tasks(count: int) -> None:
    for number in range(1, count + 1):
        task_directory(
            Path("work") / f"{number:02x}"[:2] / f"{number:030x}",
            task={"task_id": str(number), "name": f"p ({number})", "process": "p"},
            trace=trace(),
            exit_code=int(number % 3 == 0),
        )


def assert_all_arrived_once(server: PlatformDouble, count: int = TASKS) -> None:
    assert len(server.run.tasks) == count
    assert set(server.run.ends.values()) == {1}
    assert server.run.completed
    assert all("gpuMetrics" in task for task in server.run.tasks.values())
    assert sorted(task["name"] for task in server.run.tasks.values()) == sorted(
        f"p ({number})" for number in range(1, count + 1)
    )


def assert_no_token(place: Path, *texts: str) -> None:
    """Neither the token nor its encoded form is in any file or text."""
    parts = [TOKEN, TOKEN[:-4], TOKEN[4:40]]
    files = [path for path in place.rglob("*") if path.is_file()]
    assert files
    for text in [*texts, *(path.read_bytes().decode("latin-1") for path in files)]:
        assert not any(part in text for part in parts)
