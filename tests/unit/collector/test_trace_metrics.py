from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.record import FIELDS
from collector.trace import Trace, metrics_of
from helpers.builders import cgroup_block, probe_block, proc_block, sample_trace


def test_the_published_sample_becomes_the_published_figures() -> None:
    sample = sample_trace()
    fields = metrics_of(Trace(proc=sample["proc"], cgroup=sample["cgroup"]))
    assert fields == {
        "realtime": 660541,
        "%cpu": 104.5,
        "%mem": 19.121954,
        "cpu_model": "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        "vmem": 25469927424,
        "rss": 67919872,
        "peak_vmem": 41178980352,
        "peak_rss": 14783070208,
        "rchar": 14112539262,
        "wchar": 12668821375,
        "syscr": 1823378,
        "syscw": 169293,
        "read_bytes": 8011776,
        "write_bytes": 102400,
        "vol_ctxt": 413015,
        "inv_ctxt": 1540,
    }


def test_without_a_cgroup_block_the_kib_of_proc_become_bytes() -> None:
    fields = metrics_of(Trace(proc=proc_block(vmem=1000, rss=500, peak_vmem=1500, peak_rss=700)))
    assert fields["vmem"] == 1000 * 1024
    assert fields["rss"] == 500 * 1024
    assert fields["peak_vmem"] == 1500 * 1024
    assert fields["peak_rss"] == 700 * 1024
    assert fields["%mem"] == 5.6


def test_without_a_limit_memory_is_a_share_of_the_host() -> None:
    fields = metrics_of(Trace(proc=proc_block(pct_mem=56), cgroup=cgroup_block(memory_limit=0)))
    assert fields["%mem"] == 5.6
    assert fields["peak_rss"] == 4_000_000


def test_with_a_limit_memory_is_a_share_of_the_limit() -> None:
    assert metrics_of(Trace(proc=proc_block(), cgroup=cgroup_block()))["%mem"] == 50.0


@pytest.mark.parametrize(("scope", "peak_rss"), [("shared", 1500 * 1024), ("own", 4_000_000)])
def test_a_shared_group_does_not_tell_the_tasks_memory(scope: str, peak_rss: int) -> None:
    probe = probe_block(scope={"cgroup": scope})
    fields = metrics_of(Trace(proc=proc_block(), cgroup=cgroup_block(), probe=probe))
    assert fields["peak_rss"] == peak_rss


def test_absent_keys_stay_unknown() -> None:
    assert metrics_of(Trace(proc={"arch": "linux/amd64"}, cgroup={"version": "v2"})) == {}
    assert metrics_of(Trace()) == {}


def test_keys_that_were_not_measured_are_unknown() -> None:
    unavailable = ["proc.rchar", "cgroup.memory_rss", "cgroup.memory_limit", "proc.pct_mem"]
    fields = metrics_of(
        Trace(
            proc=proc_block(rchar=0, pct_mem=0),
            cgroup=cgroup_block(memory_rss=0, memory_limit=0),
            probe={"unavailable": unavailable},
        )
    )
    assert not {"rchar", "rss", "%mem"} & set(fields)
    assert fields["wchar"] == 200
    assert fields["peak_rss"] == 4_000_000


@pytest.mark.parametrize(
    "wrong", ["max", "1.5", "", None, True, [], {}, -1, 2**63, 1e300, "9" * 30, "٣"]
)
def test_fr_006_a_bad_number_costs_only_its_field(wrong: object) -> None:
    fields = metrics_of(Trace(proc=proc_block(rchar=wrong)))
    assert "rchar" not in fields
    assert fields["wchar"] == 200


@pytest.mark.parametrize(("value", "expected"), [("12", 12), (12.9, 12), (2**63 - 1, 2**63 - 1)])
def test_numbers_are_read_as_nextflow_reads_them(value: object, expected: int) -> None:
    assert metrics_of(Trace(proc=proc_block(rchar=value)))["rchar"] == expected


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=5,
)
_BLOCK = st.none() | st.dictionaries(st.sampled_from([*proc_block(), *cgroup_block()]), _JSON)


@given(proc=_BLOCK, cgroup=_BLOCK)
def test_fr_006_no_block_can_raise(
    proc: dict[str, Any] | None, cgroup: dict[str, Any] | None
) -> None:
    assert set(metrics_of(Trace(proc=proc, cgroup=cgroup))) <= set(FIELDS)
