import os
from dataclasses import replace
from pathlib import Path

import pytest

from collector.collect import Host, local_host
from collector.collect.liveness import writer_is_gone
from collector.collect.status import Outcome, outcome_of
from helpers.builders import probe_block

RUNNING = probe_block(state="running")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """The machine that the writer of `RUNNING` ran on."""
    return Host(hostname="node1", boot_id="boot-1", pid_namespace=1, proc_root=tmp_path)


def let_run(host: Host, *, pid: int = 4711000, start: int = 99, state: str = "S") -> None:
    fields = [state, *["0"] * 18, str(start), "0"]
    (host.proc_root / str(pid)).mkdir()
    (host.proc_root / str(pid) / "stat").write_text(f"{pid} (a) name (b) {' '.join(fields)}\n")


@pytest.mark.parametrize(
    ("exit_status", "status"), [(0, "COMPLETED"), (1, "FAILED"), (137, "FAILED"), (-1, "FAILED")]
)
def test_fr_005_the_exit_file_decides(host: Host, exit_status: int, status: str) -> None:
    outcome = outcome_of(exit_status, RUNNING, host=host)
    assert (outcome.status, outcome.exit_status) == (status, exit_status)


@pytest.mark.parametrize(
    ("ended", "status", "exit_status"),
    [
        ({"exit": 0}, "COMPLETED", 0),
        ({"exit": 3}, "FAILED", 3),
        ({"signal": 9}, "FAILED", 137),
        ({}, "COMPLETED", None),
    ],
)
def test_without_an_exit_file_a_final_trace_decides(
    host: Host, ended: dict[str, int], status: str, exit_status: int | None
) -> None:
    outcome = outcome_of(None, probe_block(state="final", **ended), host=host)
    assert (outcome.status, outcome.exit_status) == (status, exit_status)


@pytest.mark.parametrize(
    "damaged", [{"signal": 2**64 - 1}, {"signal": True}, {"exit": True}, {"exit": 2**63}]
)
def test_sc_003_an_end_that_cannot_be_is_no_evidence(host: Host, damaged: dict[str, int]) -> None:
    assert outcome_of(None, probe_block(state="final", **damaged), host=host) == Outcome()


@pytest.mark.parametrize("probe", [None, {}, {"state": "new-state"}, {"state": ["running"]}])
def test_without_evidence_nothing_is_claimed(host: Host, probe: dict[str, object] | None) -> None:
    assert outcome_of(None, probe, host=host) == Outcome()


def test_a_running_trace_with_its_writer_is_running(host: Host) -> None:
    let_run(host)
    assert outcome_of(None, RUNNING, host=host) == Outcome(status="RUNNING")


def test_a_running_trace_without_its_writer_is_aborted(host: Host) -> None:
    assert outcome_of(None, RUNNING, host=host) == Outcome(status="ABORTED")


@pytest.mark.parametrize("other", [{"start": 100}, {"state": "Z"}, {"pid": 4712000}])
def test_another_process_of_that_pid_and_a_zombie_are_not_the_writer(
    host: Host, other: dict[str, int]
) -> None:
    let_run(host, **other)  # type: ignore[arg-type]  # one of the keywords
    assert writer_is_gone(RUNNING, host)


def test_a_writer_on_another_machine_is_not_gone(host: Host) -> None:
    elsewhere = replace(host, hostname="node2", boot_id="boot-2")
    assert not writer_is_gone(RUNNING, elsewhere)
    assert not writer_is_gone(RUNNING, replace(elsewhere, boot_id=None))


def test_a_writer_from_before_a_reboot_is_gone(host: Host) -> None:
    let_run(host)
    assert writer_is_gone(RUNNING, replace(host, boot_id="boot-2"))


def test_a_writer_in_another_pid_namespace_is_not_gone(host: Host) -> None:
    assert not writer_is_gone(RUNNING, replace(host, pid_namespace=2))


def test_the_boot_outweighs_the_name_of_the_machine(host: Host) -> None:
    assert writer_is_gone(RUNNING, replace(host, hostname="renamed"))


def test_without_boot_and_namespace_the_name_of_the_machine_decides(host: Host) -> None:
    bare = {key: RUNNING[key] for key in ("hostname", "pid", "pid_start")}
    assert writer_is_gone(bare, host)
    assert not writer_is_gone(bare, replace(host, hostname="node2"))


@pytest.mark.parametrize("missing", ["pid", "pid_start"])
def test_a_writer_that_cannot_be_identified_is_not_gone(host: Host, missing: str) -> None:
    probe = {key: value for key, value in RUNNING.items() if key != missing}
    assert not writer_is_gone(probe, host)


def test_a_writer_that_could_not_tell_its_start_is_not_gone(host: Host) -> None:
    unknown = {**RUNNING, "pid_start": 0}
    assert outcome_of(None, unknown, host=host) == Outcome(status="RUNNING")
    let_run(host)
    assert outcome_of(None, unknown, host=host) == Outcome(status="RUNNING")


def test_a_process_that_cannot_be_read_is_not_gone(host: Host) -> None:
    (host.proc_root / "4711000").mkdir()
    (host.proc_root / "4711000" / "stat").write_text("4711000 (cut")
    assert not writer_is_gone(RUNNING, host)


def test_a_hidden_process_is_not_gone(host: Host) -> None:
    """As below a /proc that was mounted with `hidepid`."""
    assert not writer_is_gone({**RUNNING, "pid": os.getppid()}, host)


def test_numbers_of_another_pid_namespace_tell_nothing(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to("1")
    stat = tmp_path / str(os.getppid()) / "stat"
    stat.parent.mkdir()
    stat.write_text(Path("/proc/self/stat").read_text())
    here = replace(local_host(), proc_root=local_host(tmp_path).proc_root)
    writer = {"boot_id": here.boot_id, "pid": os.getppid(), "pid_start": 1}
    assert not writer_is_gone(writer, here)
    assert writer_is_gone(writer, local_host())


def test_this_machine_can_be_described(tmp_path: Path) -> None:
    assert local_host().boot_id
    assert local_host(tmp_path).boot_id is None
    assert local_host(tmp_path).pid_namespace is None
