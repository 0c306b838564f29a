"""The faults that the mock driver injects, as the pynvml module meets them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.mock_driver import PRELUDE, Mock


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


@pytest.mark.parametrize(
    ("fault", "at_s", "expected"),
    [
        ("fail nvmlDeviceGetUtil* code=NOT_SUPPORTED", 0, "NVMLError_NotSupported"),
        ("fail nvmlDeviceGetUtil* code=4", 0, "NVMLError_NoPermission"),
        ("fail nvmlDeviceGetUtil* code=GPU_IS_LOST", 0, "NVMLError_GpuIsLost"),
        ("fail nvmlDeviceGetUtil* code=18", 0, "NVMLError_LibRmVersionMismatch"),
        ("fail nvmlDeviceGetUtil* code=NVML_ERROR_NO_DATA", 0, "NVMLError_NoData"),
        ("fail nvmlDeviceGetUtil* from=100 code=999", 0, 0),
        ("fail nvmlDeviceGetUtil* from=100 code=999", 101, "NVMLError_Unknown"),
        ("fail nvmlDeviceGetUtil* to=100 code=999", 101, 0),
        ("fail nvmlDeviceGetUtil* dev=0 code=999", 0, "NVMLError_Unknown"),
        ("fail nvmlDeviceGetUtil* dev=1 code=999", 0, 0),
        ("hide nvmlDeviceGetUtilizationRates", 0, "NVMLError_FunctionNotFound"),
    ],
)
def test_injected_failures(mock: Mock, fault: str, at_s: float, expected: str | int) -> None:
    code = "error(lambda: nv.nvmlDeviceGetUtilizationRates(gpu).gpu)"
    assert mock.ask(code, f"device 0\ndevice 1\n{fault}\n", at_s=at_s) == expected


@pytest.mark.parametrize(
    ("calls", "failed"), [("2", [2]), ("2-3", [2, 3]), ("3-", [3, 4, 5])], ids=str
)
def test_failures_by_call_number(mock: Mock, calls: str, failed: list[int]) -> None:
    scenario = f"device 0\nfail nvmlDeviceGetName call={calls} code=TIMEOUT\n"
    answer = mock.ask("[error(nv.nvmlDeviceGetName, gpu) for _ in range(5)]", scenario)
    assert [i for i, name in enumerate(answer, 1) if name == "NVMLError_Timeout"] == failed


def test_a_device_is_lost_while_the_other_lives_on(mock: Mock) -> None:
    scenario = "device 0\ndevice 1\nlost 1 t=100\n"
    code = (
        "[error(lambda: nv.nvmlDeviceGetName(nv.nvmlDeviceGetHandleByIndex(i))) for i in range(2)]"
        " + [nv.nvmlDeviceGetCount()]"
    )
    assert mock.ask(code, scenario, at_s=98) == ["Mock GPU", "Mock GPU", 2]
    assert mock.ask(code, scenario, at_s=101) == ["Mock GPU", "NVMLError_GpuIsLost", 2]


def test_a_device_is_lost_during_use(mock: Mock) -> None:
    code = """
import time
answer = nv.nvmlDeviceGetName(gpu)
end = time.monotonic() + 10
while answer == "Mock GPU" and time.monotonic() < end:
    answer = error(nv.nvmlDeviceGetName, gpu)
print(answer)
"""
    done = mock.run(PRELUDE + code, "device 0\nlost 0 t=0.2\n")
    assert (done.stdout, done.stderr) == ("NVMLError_GpuIsLost\n", "")


def test_the_driver_is_unloaded(mock: Mock) -> None:
    done = mock.run("import pynvml; pynvml.nvmlInit()", "device 0\nunload t=5\n", at_s=6)
    assert done.stderr.rstrip().endswith("NVMLError_DriverNotLoaded: Driver Not Loaded")


def test_a_name_that_is_not_text(mock: Mock) -> None:
    done = mock.run(f"{PRELUDE}\nnv.nvmlDeviceGetName(gpu)", "device 0\ngarbage name 0\n")
    assert "UnicodeDecodeError" in done.stderr


def test_a_delay_is_slept(mock: Mock) -> None:
    code = (
        "(lambda t: [t(), nv.nvmlDeviceGetName(gpu), t(), nv.nvmlDeviceGetUUID(gpu), t()])"
        "(__import__('time').monotonic)"
    )
    start, _, named, _, end = mock.ask(code, "device 0\ndelay nvmlDeviceGetName us=100000\n")
    assert named - start >= 0.1
    assert end - named < named - start


def test_a_hang_never_returns_and_is_logged(mock: Mock, tmp_path: Path) -> None:
    log = tmp_path / "calls.log"
    scenario = "device 0\nhang nvmlDeviceGetName from=0\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{PRELUDE}\nnv.nvmlDeviceGetName(gpu)"],
        env=mock.environment(scenario, None) | {"NVMLMOCK_LOG": str(log)},
    )
    try:
        deadline = time.monotonic() + 20
        while not (log.exists() and "hang" in log.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert log.read_text().endswith(f" {process.pid} nvmlDeviceGetName 0 hang\n")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
    finally:
        process.kill()
        process.wait()


def test_every_call_is_logged_on_one_line(mock: Mock, tmp_path: Path) -> None:
    log = tmp_path / "calls.log"
    code = f"{PRELUDE}\nnv.nvmlDeviceGetUUID(gpu)\nerror(nv.nvmlDeviceGetMigMode, gpu)"
    assert mock.run(code, "device 0\n", NVMLMOCK_LOG=str(log)).returncode == 0
    lines = [line.split(" ") for line in log.read_text().splitlines()]
    assert [line[2:] for line in lines] == [
        ["nvmlInitWithFlags", "-", "0"],
        ["nvmlDeviceGetCount_v2", "-", "0"],
        ["nvmlDeviceGetHandleByIndex_v2", "0", "0"],
        ["nvmlDeviceGetUUID", "0", "0"],
        ["nvmlDeviceGetMigMode", "0", "3"],
    ]
    times = [float(line[0]) for line in lines]
    assert times == sorted(times)
    assert len({line[1] for line in lines}) == 1


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (
            "device 0\nseries 0 util 0 200\n",
            ":2: series util: value 200: allowed is a number from 0 to 100",
        ),
        (
            "driver clock=utc\n",
            ":1: clock=utc: allowed is epoch|boot|relative",
        ),
    ],
)
def test_a_malformed_scenario_is_refused_in_one_line(
    mock: Mock, scenario: str, message: str
) -> None:
    code = """
import pynvml as nv
for _ in range(2):
    try:
        nv.nvmlInit()
    except nv.NVMLError as problem:
        print(problem.value)
"""
    done = mock.run(code, scenario)
    assert done.stdout == "999\n999\n"
    assert done.stderr == f"mock NVML: {mock.directory / 'scenario.txt'}{message}\n"


def test_a_malformed_t0_is_refused(mock: Mock) -> None:
    done = mock.run("import pynvml; pynvml.nvmlInit()", NVMLMOCK_T0="soon")
    assert done.stderr.startswith("mock NVML: NVMLMOCK_T0=soon: allowed is a time of CLOCK_MONO")


def test_a_crash_is_a_segmentation_fault_within_the_library(mock: Mock, tmp_path: Path) -> None:
    log = tmp_path / "calls.log"
    code = f"{PRELUDE}\nnv.nvmlDeviceGetUUID(gpu)\nnv.nvmlDeviceGetName(gpu)"
    done = mock.run(code, "device 0\ncrash nvmlDeviceGetName\n", NVMLMOCK_LOG=str(log))
    assert done.returncode == -signal.SIGSEGV
    assert log.read_text().endswith(" nvmlDeviceGetName 0 crash\n")
    assert mock.run(code, "device 0\ncrash nvmlDeviceGetName from=1000\n").returncode == 0


@pytest.mark.parametrize(("lock", "least_s"), [(0, 0.2), (1, 0.8)])
def test_a_global_lock_makes_calls_wait_for_each_other(
    mock: Mock, lock: int, least_s: float
) -> None:
    code = """
import threading, time
threads = [threading.Thread(target=nv.nvmlDeviceGetName, args=(gpu,)) for _ in range(4)]
start = time.monotonic()
for thread in threads: thread.start()
for thread in threads: thread.join()
print(time.monotonic() - start)
"""
    scenario = f"driver global_lock={lock}\ndevice 0\ndelay nvmlDeviceGetName us=200000\n"
    took_s = float(mock.run(PRELUDE + code, scenario).stdout)
    assert took_s >= least_s
    assert lock or took_s < 0.8


@pytest.mark.parametrize(
    ("fault", "total", "free", "used"),
    [
        ("good", 100, 60, 30),
        ("free_0", 100, 0, 30),
        ("over", 100, 60, 130),
        ("total_0", 0, 0, 30),
        ("all_ones", 2**44 - 1, 2**44 - 1, 2**44 - 1),
    ],
)
def test_memory_that_cannot_be(mock: Mock, fault: str, total: int, free: int, used: int) -> None:
    scenario = f"device 0 mem_mib=100 reserved_mib=10 memory_v2={fault}\nseries 0 mem 0 30\n"
    code = (
        "[[m.total >> 20, m.free >> 20, m.used >> 20] for m in"
        " (nv.nvmlDeviceGetMemoryInfo(gpu, version=nv.nvmlMemory_v2),"
        " nv.nvmlDeviceGetMemoryInfo(gpu))]"
    )
    assert mock.ask(code, scenario) == [[total, free, used], [100, 60, 40]]
    first = mock.ask(code, scenario.replace("memory_v2", "memory_v1"))[1]
    assert first == [total, free, used + (0 if fault == "all_ones" else 10)]


def test_a_driver_version_that_is_not_text(mock: Mock) -> None:
    done = mock.run(f"{PRELUDE}\nnv.nvmlSystemGetDriverVersion()", "device 0\ngarbage driver\n")
    assert "UnicodeDecodeError" in done.stderr
