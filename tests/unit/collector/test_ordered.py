import random
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from collector.errors import SinkRejected
from collector.record import FieldValue
from collector.sinks.ordered import OrderedLines
from helpers.builders import record


def lines_of(ids: list[FieldValue], *, run_bytes: int) -> list[bytes]:
    with OrderedLines(run_bytes=run_bytes) as lines:
        for place, task_id in enumerate(ids):
            lines.add(record({"task_id": task_id}), f"{task_id} {place}\n".encode())
        assert len(lines) == len(ids)
        return list(lines)


@pytest.mark.parametrize("run_bytes", [1, 50, 1 << 20])
def test_lines_come_back_in_the_order_of_their_records(run_bytes: int) -> None:
    numbers = [str(number) for number in range(200)]
    shuffled = random.Random(1).sample(numbers, len(numbers))
    found = [line.split()[0].decode() for line in lines_of([*shuffled], run_bytes=run_bytes)]
    assert found == numbers


@pytest.mark.parametrize("run_bytes", [1, 1 << 20])
def test_equals_stay_as_they_came(run_bytes: int) -> None:
    assert lines_of(["1", "2", "1", None, "2", None], run_bytes=run_bytes) == [
        b"1 0\n",
        b"1 2\n",
        b"2 1\n",
        b"2 4\n",
        b"None 3\n",
        b"None 5\n",
    ]


def test_no_lines_are_no_lines() -> None:
    assert lines_of([], run_bytes=1) == []


def test_memory_does_not_grow_with_the_lines() -> None:
    """40 MB of lines, of which 2 MiB and what belongs to them are held at any time."""
    line = bytes(2000)
    tracemalloc.start()
    try:
        with OrderedLines() as lines:
            for number in range(20_000):
                lines.add(record({"task_id": str(-number % 20_000)}), bytes(bytearray(line)))
            assert sum(map(len, lines)) == 40_000_000
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8_000_000


def test_a_full_disk_of_temporary_files_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = Path("/dev/full").open("r+b", buffering=0)  # noqa: SIM115 - closed by the with statement
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: full)
    with OrderedLines(run_bytes=1) as lines, pytest.raises(SinkRejected, match="TMPDIR"):
        lines.add(record(), b"line")
