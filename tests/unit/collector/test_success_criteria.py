"""SC-001 to SC-004 of the GPU metrics, on whole trees through the command line."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from helpers.builders import gpu_block, proc_block, task_directory, trace

Damage = Callable[[random.Random, bytes], bytes]


def collect(root: Path, out: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["collect", str(root), "--to", str(out), *words]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_sc_001_every_fusion_task_with_a_gpu_has_its_metrics(tmp_path: Path) -> None:
    """Failed ones too, and with a key that nobody knows."""
    gpu = gpu_block(a_new_key={"nested": [1]})
    for index in range(50):
        task_directory(
            tmp_path / "w" / str(index),
            task={"task_id": str(index), "fusion": True},
            trace=trace(gpu=gpu),
            exit_code=index % 3,
        )
    rows = collect(tmp_path / "w", tmp_path / "o.jsonl")
    assert [row["gpu_metrics"] for row in rows] == [gpu] * 50
    assert {row["status"] for row in rows} == {"COMPLETED", "FAILED"}


def test_sc_002_tasks_without_gpu_or_fusion_have_none_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocks: tuple[object, ...] = (..., None, {})
    for index, block in enumerate(blocks):
        task_directory(tmp_path / "w" / f"cpu{index}", trace=trace(gpu=block), exit_code=0)
    task_directory(tmp_path / "w" / "bare", exit_code=0)
    task_directory(tmp_path / "w" / "off", task={"fusion": False}, trace=trace(), exit_code=0)
    rows = collect(tmp_path / "w", tmp_path / "o.jsonl")
    assert [row["gpu_metrics"] for row in rows] == [None] * 5
    assert {row["status"] for row in rows} == {"COMPLETED"}
    assert caplog.records == []


AUDITED = """
import sys
opened = []
def hook(event, arguments):
    if event in ("open", "os.scandir", "os.listdir"):
        opened.append(str(arguments[0]))
sys.addaudithook(hook)
from collector.cli import main
status = main(["collect", sys.argv[1], "--fusion", sys.argv[2], "--to", sys.argv[3]])
print(status, sum(".exitcode" in path for path in opened), sum(".fusion" in p for p in opened))
"""


@pytest.mark.parametrize(("mode", "touched"), [("off", False), ("on", True)])
def test_sc_002_ec_2_with_fusion_off_the_trace_is_never_opened(
    tmp_path: Path, mode: str, *, touched: bool
) -> None:
    """The interpreter's own audit events, which no call can go around."""
    for index in range(3):
        task_directory(tmp_path / "w" / str(index), trace=trace(), exit_code=0)
    words = [sys.executable, "-c", AUDITED, str(tmp_path / "w"), mode, str(tmp_path / "o.jsonl")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    status, exit_files, traces = map(int, done.stdout.split())
    assert (status, exit_files) == (0, 3)
    assert (traces > 0) is touched


def cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def flip(chance: random.Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 20)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)


def splice(chance: random.Random, data: bytes) -> bytes:
    start, end = sorted(chance.sample(range(len(data)), 2))
    return data[:start] + data[end:] + data[start:end]


def noise(chance: random.Random, _: bytes) -> bytes:
    return chance.randbytes(chance.randint(0, 2000))


def retype(chance: random.Random, data: bytes) -> bytes:
    root = json.loads(data)
    odd: list[Any] = [None, True, -1, 2**64, 1e308, "max", "", [], {}, [[[]]], {"a": {}}, "\ud800"]
    for _ in range(chance.randint(1, 6)):
        block = chance.choice(
            [root, *(value for value in root.values() if isinstance(value, dict))]
        )
        if block:
            block[chance.choice(list(block))] = chance.choice(odd)
    return json.dumps(root).encode()


def nest(chance: random.Random, _: bytes) -> bytes:
    depth = chance.randint(60, 5000)
    return b'{"gpu":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"


def grow(chance: random.Random, data: bytes) -> bytes:
    return data + b" " * chance.randint(0, 4096) + chance.randbytes(chance.randint(1, 64))


DAMAGES: list[Damage] = [cut, flip, splice, noise, retype, nest, grow]


@pytest.mark.parametrize("seed", [1])
def test_sc_003_1000_damaged_traces_cost_no_task_its_report(tmp_path: Path, seed: int) -> None:
    """1000 traces, each damaged in its own way; its standard metrics come from .command.trace."""
    chance = random.Random(seed)
    whole = json.dumps(trace(gpu=gpu_block(), proc=proc_block())).encode()
    seen = {whole}
    for index in range(1000):
        damaged = whole
        while damaged in seen:
            damaged = DAMAGES[index % len(DAMAGES)](chance, whole)
        seen.add(damaged)
        task_directory(
            tmp_path / "w" / f"{index % 16:x}" / str(index),
            task={"task_id": str(index), "name": f"task {index}", "cpus": 2},
            trace=damaged,
            exit_code=index % 2,
            command_trace="nextflow.trace/v2\nrealtime=77\nrchar=7\npeak_rss=5\n",
        )
    rows = collect(tmp_path / "w", tmp_path / "o.jsonl", "--metrics-from", "command.trace")
    assert [row["task_id"] for row in rows] == [str(index) for index in range(1000)]
    for index, row in enumerate(rows):
        standard = (row["name"], row["cpus"], row["exit"], row["realtime"], row["rchar"])
        assert standard == (f"task {index}", 2, index % 2, 77, 7)
        assert row["peak_rss"] == 5 * 1024
        assert row["status"] == ("FAILED" if index % 2 else "COMPLETED")
    automatic = collect(tmp_path / "w", tmp_path / "a.jsonl")
    assert [row["name"] for row in automatic] == [row["name"] for row in rows]


def test_sc_004_one_small_file_is_read_for_each_task(tmp_path: Path) -> None:
    """What it costs beside a bare loop of the same calls: benchmarks/collect_cost.py."""
    script = Path(__file__).parents[3] / "benchmarks" / "collect_cost.py"
    words = [sys.executable, str(script), "--tasks", "2000", "--rounds", "3", "--limit", "3"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ratio of CPU times" in done.stdout
