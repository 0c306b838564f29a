"""Processes on the mock driver's devices, as the pynvml module lists them."""

import json
import subprocess
import sys
from pathlib import Path

import pynvml
import pytest

from helpers.mock_driver import PRELUDE, Mock

RELATIVE_BASE_US = 100_000_000_000

# The lists by functions that pynvml does not call: raw records, one per stride bytes.
RAW = (
    PRELUDE
    + """
import ctypes
def raw(function, stride, capacity=16):
    count = ctypes.c_uint(capacity)
    buffer = ctypes.create_string_buffer(b"\\xa5" * 1024, 1024)
    call = getattr(nv.nvmlLib, function)
    rc = call(gpu, ctypes.byref(count), buffer if capacity else None)
    records = [
        [int.from_bytes(buffer.raw[i * stride + a : i * stride + b], "little")
         for a, b in ((0, 4), (8, 16), (16, 20), (20, 24)) if b <= stride]
        for i in range(count.value if rc == 0 else 0)
    ]
    written = len(buffer.raw.rstrip(b"\\xa5"))
    return [rc, count.value, records, written]
"""
)
ALL_ONES_32 = 2**32 - 1


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


def raw(mock: Mock, scenario: str, call: str) -> list[object]:
    done = mock.run(f"{RAW}\nprint(json.dumps({call}))", scenario)
    assert (done.returncode, done.stderr) == (0, "")
    answer: list[object] = json.loads(done.stdout)
    return answer


TWO = "device 0\nproc 0 pid=11 mem_mib=1\nproc 0 pid=12 mem_mib=2\n"


@pytest.mark.parametrize(
    ("function", "driver", "stride"),
    [
        ("nvmlDeviceGetComputeRunningProcesses", "", 16),
        ("nvmlDeviceGetComputeRunningProcesses_v2", "", 24),
        ("nvmlDeviceGetComputeRunningProcesses_v3", "", 24),
        ("nvmlDeviceGetComputeRunningProcesses_v3", "driver process_stride=16\n", 16),
        ("nvmlDeviceGetComputeRunningProcesses_v3", "driver process_stride=32\n", 32),
        ("nvmlDeviceGetComputeRunningProcesses_v2", "driver process_stride=32\n", 24),
    ],
)
def test_the_record_layouts_of_all_versions(
    mock: Mock, function: str, driver: str, stride: int
) -> None:
    rc, count, records, written = raw(mock, driver + TWO, f"raw({function!r}, {stride})")
    instance = [ALL_ONES_32, ALL_ONES_32] if stride > 16 else []
    assert (rc, count) == (0, 2)
    assert records == [[11, 1 << 20, *instance], [12, 2 << 20, *instance]]
    assert written == 2 * stride  # and nothing behind the last record


@pytest.mark.parametrize(("capacity", "rc"), [(0, 7), (1, 7), (2, 0)])
def test_a_list_that_does_not_fit_says_how_long_it_is(mock: Mock, capacity: int, rc: int) -> None:
    call = f"raw('nvmlDeviceGetComputeRunningProcesses_v3', 24, {capacity})"
    code, count, _, written = raw(mock, TWO, call)
    assert (code, count, written) == (rc, 2, 0 if rc else 48)


def test_each_kind_of_process_has_its_lists(mock: Mock) -> None:
    scenario = "device 0\n" + "".join(
        f"proc 0 pid={pid} kind={kind}\n"
        for pid, kind in ((1, "compute"), (2, "graphics"), (3, "mps"), (4, "both"))
    )
    code = (
        "[[p.pid for p in f(gpu)] for f in (nv.nvmlDeviceGetComputeRunningProcesses,"
        " nv.nvmlDeviceGetGraphicsRunningProcesses, nv.nvmlDeviceGetMPSComputeRunningProcesses)]"
        " + [[len(nv.nvmlDeviceGetRunningProcessDetailList(gpu, 0x01000018, mode))"
        " for mode in range(3)]]"
    )
    assert mock.ask(code, scenario) == [[1, 4], [2, 4], [3], [2, 2, 1]]


def test_memory_that_the_driver_does_not_know(mock: Mock) -> None:
    scenario = "device 0\nproc 0 pid=11 mem=na mem_mib=5\n"
    code = "nv.nvmlDeviceGetComputeRunningProcesses(gpu)[0].usedGpuMemory"
    assert mock.ask(code, scenario) is None  # pynvml's word for all-ones
    _, _, records, _ = raw(mock, scenario, "raw('nvmlDeviceGetComputeRunningProcesses_v2', 24)")
    assert records == [[11, 2**64 - 1, ALL_ONES_32, ALL_ONES_32]]


def test_processes_named_by_their_relation(mock: Mock) -> None:
    scenario = "device 0\nproc 0 pid=self\nproc 0 pid=child\nproc 0 pid=foreign\n"
    code = """
import os, subprocess, sys
pids = lambda: [p.pid for p in nv.nvmlDeviceGetComputeRunningProcesses(gpu)]
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
with_child = pids()
child.stdin.close()
child.wait()
print(json.dumps([os.getpid(), child.pid, with_child, pids()]))
"""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PRELUDE + code!r}])",
        ],
        env=mock.environment(scenario, None),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    me, child, with_child, without = json.loads(done.stdout)
    assert with_child[:2] == [me, child]
    assert with_child[2] > 2**22  # no process of this machine
    assert without == [me, with_child[2]]  # a child that does not exist is not listed


def test_a_sibling_is_the_child_of_a_process_without_one(mock: Mock) -> None:
    """As for a monitor that its caller starts beside the task."""
    code = """
import subprocess, sys
task = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
seen = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True).stdout
task.stdin.close()
task.wait()
print(task.pid, seen)
"""
    inner = PRELUDE + "\nprint(nv.nvmlDeviceGetComputeRunningProcesses(gpu)[0].pid)"
    done = mock.run(f"CODE = {inner!r}\n{code}", "device 0\nproc 0 pid=child\n")
    task, seen = done.stdout.split()
    assert task == seen


SINCE = (
    "[[p.pid, p.timeStamp, p.smUtil, p.memUtil] for p in"
    " nv.nvmlDeviceGetProcessUtilization(gpu, {seen})]"
)
BUSY = """
driver period_ms=1000 ring=10 clock=relative
device 0
proc 0 pid=11 t0=0 t1=4 sm=80 mem_util=10
proc 0 pid=11 t0=4 sm=20
proc 0 pid=12 t0=4.5 t1=6.25 sm=40
"""


def test_utilization_since_a_time_stamp_is_one_record_for_each_pid(mock: Mock) -> None:
    seen = RELATIVE_BASE_US + 3_000_000
    # Until 8 s: pid 11 was at 80 for one and at 20 for four seconds, pid 12 at 40 for 1.75.
    answer = mock.ask(SINCE.format(seen=seen), BUSY, at_s=8.2)
    assert answer == [[11, seen + 5_000_000, 32, 2], [12, seen + 4_000_000, 14, 0]]
    whole = mock.ask(SINCE.format(seen=0), BUSY, at_s=8.2)  # also what was before time 0
    assert [[pid, sm] for pid, _, sm, _ in whole] == [[11, 40], [12, 7]]
    newer = mock.ask(SINCE.format(seen=RELATIVE_BASE_US + 7_000_000), BUSY, at_s=8.2)
    assert [pid for pid, *_ in newer] == [11]
    code = f"error(nv.nvmlDeviceGetProcessUtilization, gpu, {seen + 9_000_000})"
    assert mock.ask(code, BUSY, at_s=8.2) == "NVMLError_NotFound"


def test_utilization_without_a_buffer_says_the_size_of_the_drivers(mock: Mock) -> None:
    code = (
        "(lambda n: [nv.nvmlLib.nvmlDeviceGetProcessUtilization(gpu, None, ctypes.byref(n),"
        " ctypes.c_ulonglong(0)), n.value])(ctypes.c_uint(0))"
    )
    assert raw(mock, BUSY, code) == [pynvml.NVML_ERROR_INSUFFICIENT_SIZE, 100]


def test_the_newer_function_gives_the_same_records(mock: Mock) -> None:
    seen = RELATIVE_BASE_US + 3_000_000
    code = f"""
info = nv.c_nvmlProcessesUtilizationInfo_v1_t()
info.version = nv.ProcessesUtilizationInfo_v1
info.lastSeenTimeStamp = {seen}
first = nv.nvmlLib.nvmlDeviceGetProcessesUtilizationInfo(gpu, ctypes.byref(info))
records = (nv.c_nvmlProcessUtilizationInfo_v1_t * info.processSamplesCount)()
info.procUtilArray = records
again = nv.nvmlLib.nvmlDeviceGetProcessesUtilizationInfo(gpu, ctypes.byref(info))
info.version = 1
wrong = nv.nvmlLib.nvmlDeviceGetProcessesUtilizationInfo(gpu, ctypes.byref(info))
print(json.dumps([first, len(records), again, info.processSamplesCount, wrong,
                  [[r.pid, r.smUtil] for r in records[:2]]]))
"""
    done = mock.run(RAW + code, BUSY, at_s=8.2)
    assert (done.stdout, done.stderr) == ("[7, 100, 0, 2, 25, [[11, 32], [12, 14]]]\n", "")


def test_garbage_records(mock: Mock) -> None:
    seen = RELATIVE_BASE_US + 3_000_000
    answer = mock.ask(SINCE.format(seen=seen), BUSY + "garbage records 0\n", at_s=8.2)
    assert answer[0] == answer[4]  # one twice
    assert answer[2] == [0, seen + 5_000_000, 3_000_000, 3_000_000]
    assert answer[3][1] < seen
    pids = "[p.pid for p in nv.nvmlDeviceGetComputeRunningProcesses(gpu)]"
    assert mock.ask(pids, BUSY + "garbage processes 0\n", at_s=5) == [11, 12, 11, 0]
    assert mock.ask(pids, "device 0\ngarbage processes 0\n") == [0, 0]
