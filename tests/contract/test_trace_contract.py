"""One format, two sides: what C writes, what Fusion published, what the documentation says."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.wrapper import Wrapper

REPOSITORY = Path(__file__).resolve().parents[2]
SAMPLE = json.loads((REPOSITORY / "tests/data/traces/sample-trace.json").read_bytes())

SCENARIO = (
    """
device 0 name="Mock T4" mem_mib=15360 gpm=1 ecc=1 remapped_corrected=1
series 0 util 0 75
series 0 memutil 0 43
series 0 mem 0 6161
series 0 throttle 0 0x44
series 0 sm 0 40
series 0 occupancy 0 30
series 0 tensor 0 20
series 0 dram 0 10
series 0 clock_sm 0 1500
proc 0 pid=child mem_mib=100
"""
    + "event 0 t=61 type=xid data=31\n" * 17
)


@pytest.fixture
def trace(gpu_wrapper: Wrapper, scenario: Callable[[str], None]) -> dict[str, Any]:
    scenario(SCENARIO)
    options = ["--cgroup", "shared"]  # with the block, whoever else is in the group
    at = str(time.monotonic_ns() - 60 * 10**9)
    assert gpu_wrapper.run("sleep", "1.4", options=options, NVMLMOCK_T0=at).returncode == 0
    return gpu_wrapper.trace()


def shape(block: dict[str, Any]) -> list[tuple[str, type]]:
    return [(key, type(value)) for key, value in block.items()]


@pytest.mark.parametrize("block", ["proc", "gpu", "cgroup"])
def test_keys_their_order_and_their_types_are_fusions(trace: dict[str, Any], block: str) -> None:
    if block == "cgroup" and block not in trace:
        pytest.skip("this host shows no control group with memory figures")
    ours = {key: value for key, value in trace[block].items() if key != "devices"}
    assert shape(ours) == shape(SAMPLE[block])


def test_blocks_stand_in_fusions_order_and_ours_is_last(trace: dict[str, Any]) -> None:
    assert [b for b in trace if b != "cgroup"] == ["proc", "gpu", "probe"]
    assert list(trace)[-1] == "probe"


def documented(heading: str) -> set[str]:
    """The keys in the first column of the tables below a heading of docs/trace-format.md."""
    text = (REPOSITORY / "docs/trace-format.md").read_text()
    section = text.split(heading, 1)[1]
    section = re.split(r"\n#+ |\n`gpu\.devices\[\]`", section, maxsplit=1)[0]
    rows = re.findall(r"^\| (`[^|]*?) \|", section, flags=re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize(
    ("heading", "block"),
    [("### proc:", "proc"), ("### gpu:", "gpu"), ("### cgroup:", "cgroup")],
)
def test_every_key_is_documented(trace: dict[str, Any], heading: str, block: str) -> None:
    expected = set(trace[block]) if block in trace else set(SAMPLE[block])
    assert documented(heading) == expected


def test_every_key_of_a_device_is_documented(trace: dict[str, Any]) -> None:
    text = (REPOSITORY / "docs/trace-format.md").read_text()
    introduction = text.split("`gpu.devices[]`:", 1)[1].split("| key |", 1)[0]
    named = set(re.findall(r"`([a-z_]+)`", introduction)) | documented("`gpu.devices[]`:")
    [device] = trace["gpu"]["devices"]
    assert set(device) <= named
    rare = {"lost_at_ms", "absent", "mig", "peak_mem_source", "unified_memory"}
    assert named - set(device) == rare


def test_every_key_of_the_probe_block_is_documented(trace: dict[str, Any]) -> None:
    named = documented("### probe:")
    assert set(trace["probe"]) <= named
    relations = {"job", "step", "array", "rank", "within"}
    rare = {"signal", "exit", "boot_id", "pid_ns", "coverage"} | relations
    assert named - set(trace["probe"]) <= rare


def test_the_probe_tells_its_own_cost_and_the_bounds_of_the_peak(trace: dict[str, Any]) -> None:
    assert isinstance(trace["probe"]["own_cpu_usec"], int)
    assert trace["probe"]["own_cpu_usec"] > 0
    assert isinstance(trace["probe"]["peak_rss_upper_kib"], int)
    assert trace["probe"]["peak_rss_upper_kib"] >= trace["proc"]["peak_rss"]


def test_what_stands_as_0_without_a_measurement_is_listed(trace: dict[str, Any]) -> None:
    for dotted in trace["probe"]["unavailable"]:
        block, key = dotted.split(".")
        assert trace[block][key] == 0


def test_throttle_reasons_are_words(trace: dict[str, Any]) -> None:
    assert trace["gpu"]["devices"][0]["throttle_reasons"] == ["sw_power_cap", "hw_thermal"]
