import os
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from collector.errors import TraceMalformed, TraceNotFound
from collector.files import FILE_SIZE_LIMIT_BYTES
from collector.trace import Trace, parse_trace, read_trace
from helpers.builders import SAMPLE_TRACE, gpu_block, probe_block, sample_trace, trace

SOURCE = Path("work/.fusion/trace.json")


def parse(content: dict[str, Any]) -> Trace:
    return parse_trace(orjson.dumps(content), source=SOURCE)


def test_as_1_key_the_published_sample_is_read_whole() -> None:
    read = read_trace(SAMPLE_TRACE)
    sample = sample_trace()

    assert read.gpu == sample["gpu"]
    assert list(read.gpu or {}) == list(sample["gpu"])
    assert read.proc == sample["proc"]
    assert read.cgroup == sample["cgroup"]
    assert read.probe is None
    assert read.problems == ()


def test_ec_1_unknown_keys_are_kept() -> None:
    gpu = gpu_block(temperature={"max": 71.5}, devices=[{"uuid": "GPU-1", "new": None}])
    assert parse(trace(gpu=gpu)).gpu == gpu


@pytest.mark.parametrize("gpu", [..., None, {}])
def test_as_2_without_devices_there_is_no_gpu_block(gpu: object) -> None:
    read = parse(trace(gpu=gpu))
    assert read.gpu is None
    assert read.problems == ()
    assert read.proc is not None


@pytest.mark.parametrize("block", ["proc", "gpu", "cgroup", "probe"])
@pytest.mark.parametrize("wrong", [[], "text", 1, True])
def test_fr_006_a_block_of_the_wrong_type_costs_only_itself(block: str, wrong: object) -> None:
    read = parse({**sample_trace(), "probe": probe_block(), block: wrong})

    assert getattr(read, block) is None
    assert all(getattr(read, other) for other in {"proc", "gpu", "cgroup", "probe"} - {block})
    assert len(read.problems) == 1
    assert f"{block} is a" in read.problems[0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"gpu": {"pct": 1}',
        b"[]",
        b"null",
        b"42",
        b'{"gpu": NaN}',
        b"\xff\xfe",
        b'{"gpu": ' + b"[" * 100 + b"]" * 100 + b"}",
        b"[" * 100_000,
    ],
)
def test_as_4_what_is_no_object_is_malformed_and_named(data: bytes) -> None:
    with pytest.raises(TraceMalformed, match=re.escape(str(SOURCE))):
        parse_trace(data, source=SOURCE)


def test_whatever_is_accepted_can_be_written_again() -> None:
    nested: dict[str, Any] = {}
    for _ in range(60):
        nested = {"n": nested}
    read = parse(trace(gpu={"deep": nested}))
    assert orjson.loads(orjson.dumps(read.gpu)) == {"deep": nested}


def test_as_4_an_absent_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(TraceNotFound):
        read_trace(tmp_path / ".fusion" / "trace.json")
    (tmp_path / ".fusion").write_text("a file where the directory should be")
    with pytest.raises(TraceNotFound):
        read_trace(tmp_path / ".fusion" / "trace.json")


def test_fr_006_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with path.open("wb") as file:
        file.truncate(FILE_SIZE_LIMIT_BYTES + 1)
    with pytest.raises(TraceMalformed, match="larger than"):
        read_trace(path)


def test_fr_006_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    os.mkfifo(path)
    with pytest.raises(TraceMalformed, match="not a regular file"):
        read_trace(path)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (["cgroup.io_read_bytes", 7, None], {"cgroup.io_read_bytes"}),
        ("cgroup.io_read_bytes", set()),
        (None, set()),
    ],
)
def test_the_list_of_unavailable_keys_is_read_with_care(listed: object, expected: set[str]) -> None:
    assert parse(trace(probe=probe_block(unavailable=listed))).unavailable == expected
