"""Accounting mode on the mock driver, as the pynvml module reads it."""

import time
from pathlib import Path

import pytest

from helpers.mock_driver import Mock

SCENARIO = """
driver accounting=1
device 0
device 1 accounting=0
proc 0 pid=11 t0=1 t1=3 sm=90 mem_util=30 mem_mib=100 peak_mib=900 peak_t=2
proc 0 pid=11 t0=3 t1=5 sm=10 mem_mib=200
proc 0 pid=12 t0=6 sm=50
proc 0 pid=13 t0=1000
"""
STATS = (
    "(lambda s: [s.gpuUtilization, s.memoryUtilization, s.maxMemoryUsage, s.time, s.isRunning])"
    "(nv.nvmlDeviceGetAccountingStats(gpu, {pid}))"
)


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


def test_the_mode_is_off_unless_it_is_asked_for(mock: Mock) -> None:
    modes = "[nv.nvmlDeviceGetAccountingMode(nv.nvmlDeviceGetHandleByIndex(i)) for i in range(2)]"
    assert mock.ask(modes, SCENARIO) == [1, 0]
    off = (
        "[error(nv.nvmlDeviceGetAccountingPids, gpu),"
        " error(nv.nvmlDeviceGetAccountingStats, gpu, 1),"
        " nv.nvmlDeviceGetAccountingMode(gpu), nv.nvmlDeviceGetAccountingBufferSize(gpu)]"
    )
    assert mock.ask(off, "device 0\nproc 0 pid=1\n") == ["NVMLError_NotSupported"] * 2 + [0, 4000]


def test_a_running_process_has_a_peak_and_no_time(mock: Mock) -> None:
    assert mock.ask(STATS.format(pid=11), SCENARIO, at_s=1.5) == [90, 30, 100 << 20, 0, 1]
    assert mock.ask(STATS.format(pid=11), SCENARIO, at_s=2.5) == [90, 30, 900 << 20, 0, 1]


def test_an_ended_process_is_remembered_with_its_means(mock: Mock) -> None:
    assert mock.ask(STATS.format(pid=11), SCENARIO, at_s=60) == [50, 15, 900 << 20, 4000, 0]
    pids = "list(nv.nvmlDeviceGetAccountingPids(gpu))"
    assert mock.ask(pids, SCENARIO, at_s=60) == [11, 12]
    assert mock.ask(pids, SCENARIO, at_s=0.5) == []
    gone = "error(nv.nvmlDeviceGetAccountingStats, gpu, 13)"
    assert mock.ask(gone, SCENARIO, at_s=60) == "NVMLError_NotFound"


def test_the_start_is_in_wall_clock_time(mock: Mock) -> None:
    before_us = time.time_ns() // 1000
    start_us = mock.ask("nv.nvmlDeviceGetAccountingStats(gpu, 12).startTime", SCENARIO, at_s=10)
    assert before_us - 4_100_000 <= start_us <= time.time_ns() // 1000 - 3_900_000
