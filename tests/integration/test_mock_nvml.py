"""The mock driver, read by a program that does not know it: the pynvml module."""

import ctypes
import json
import math
import re
import subprocess
import sys
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.mock_driver import PRELUDE, Mock

REPOSITORY = Path(__file__).resolve().parents[2]
RELATIVE_BASE_US = 100_000_000_000


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


def mean_percent(
    points: list[tuple[str, int]], start: Fraction, end: Fraction, *, linear: bool
) -> int:
    """Integrate a load over a period, independently of the mock, in exact fractions."""
    area = Fraction(0)
    last = (str(max(end, Fraction(points[-1][0]))), points[-1][1])
    for (t0, v0), (t1, v1) in pairwise([*points, last]):
        begin, finish = Fraction(t0), Fraction(t1)
        low, high = max(begin, start), min(finish, end)
        if low < high:
            slope = (v1 - v0) / (finish - begin) if linear else Fraction(0)
            area += (v0 + slope * ((low + high) / 2 - begin)) * (high - low)
    return math.floor(area / (end - start))


def test_the_default_scenario_needs_no_file(mock: Mock) -> None:
    answer = mock.ask(
        "[nv.nvmlSystemGetDriverVersion(), nv.nvmlDeviceGetCount(), nv.nvmlDeviceGetName(gpu),"
        " nv.nvmlDeviceGetUUID(gpu), nv.nvmlDeviceGetMemoryInfo(gpu).used]"
    )
    uuid = "GPU-6d6f636b-0000-4000-8000-000000000000"
    assert answer == ["580.126.09", 1, "Mock GPU", uuid, 1024 << 20]


def test_identity(mock: Mock) -> None:
    scenario = """
        driver version=535.1
        device 0 name="Mock Tesla T4" uuid=GPU-aaaa
        device 1 name="Mock H200" uuid=GPU-bbbb
    """
    answer = mock.ask(
        "[nv.nvmlSystemGetDriverVersion(), nv.nvmlSystemGetNVMLVersion(),"
        " nv.nvmlSystemGetCudaDriverVersion_v2(),"
        " [nv.nvmlDeviceGetName(nv.nvmlDeviceGetHandleByIndex(i)) for i in range(2)],"
        " nv.nvmlDeviceGetIndex(nv.nvmlDeviceGetHandleByUUID('GPU-bbbb')),"
        " nv.nvmlDeviceGetPciInfo(gpu).busId]",
        scenario,
    )
    names = ["Mock Tesla T4", "Mock H200"]
    assert answer == ["535.1", "13.535.1", 13000, names, 1, "00000000:01:00.0"]


def test_no_devices(mock: Mock) -> None:
    code = "[nv.nvmlDeviceGetCount(), error(nv.nvmlDeviceGetHandleByIndex, 0)]"
    assert mock.ask(code, "driver version=1.2\n") == [0, "NVMLError_InvalidArgument"]


def test_memory_of_both_versions(mock: Mock) -> None:
    scenario = """
        device 0 mem_mib=15360 reserved_mib=450
        series 0 mem 0 100 5 11388.5
    """
    code = (
        "[[m.total >> 10, m.used >> 10, m.free >> 10] for m in"
        " (nv.nvmlDeviceGetMemoryInfo(gpu),"
        "  nv.nvmlDeviceGetMemoryInfo(gpu, version=nv.nvmlMemory_v2))]"
        " + [nv.nvmlDeviceGetMemoryInfo(gpu, version=nv.nvmlMemory_v2).reserved >> 20]"
    )
    used = 11661824  # KiB; 11388.5 MiB
    v1, v2, reserved = mock.ask(code, scenario, at_s=6)
    assert v1 == [15360 << 10, used + (450 << 10), ((15360 - 450) << 10) - used]
    assert v2 == [15360 << 10, used, ((15360 - 450) << 10) - used]
    assert reserved == 450


def test_utilization_is_the_newest_entry(mock: Mock) -> None:
    scenario = """
        driver period_ms=10000
        device 0
        series 0 util 0 75 10 0 15 100
        series 0 memutil 0 30
    """
    code = "(lambda r: [r.gpu, r.memory])(nv.nvmlDeviceGetUtilizationRates(gpu))"
    assert mock.ask(code, scenario, at_s=5) == [0, 0]
    assert mock.ask(code, scenario, at_s=15) == [75, 30]
    assert mock.ask(code, scenario, at_s=25) == [50, 30]


SAMPLES = (
    "[[s.timeStamp, s.sampleValue.uiVal] for s in nv.nvmlDeviceGetSamples(gpu, {kind}, {seen})[1]]"
)


@pytest.mark.parametrize("linear", [False, True], ids=["held", "linear"])
def test_samples_are_the_exact_integral_of_the_load(mock: Mock, linear: bool) -> None:
    points = [("0.05", 100), ("1.234567891", 33), ("2", 71), ("2.5", 0), ("9.999", 64)]
    written = " ".join(f"{t} {v}" for t, v in points)
    scenario = f"""
        driver period_ms=167 ring=72 clock=relative
        device 0
        series 0 util {"linear" if linear else ""} {written}
    """
    samples = mock.ask(SAMPLES.format(kind=1, seen=0), scenario, at_s=10.5)
    assert len(samples) == 72
    period = Fraction(167, 1000)
    for stamp, value in samples:
        end = Fraction(stamp - RELATIVE_BASE_US, 1_000_000)
        assert (end / period).denominator == 1
        assert value == mean_percent(points, end - period, end, linear=linear)
    stamps = [stamp for stamp, _ in samples]
    assert stamps == sorted(stamps)
    assert stamps[0] < RELATIVE_BASE_US  # the ring holds history from before T0
    assert any(0 < value < 100 and value not in {33, 71, 64} for _, value in samples)


def test_samples_newer_than_last_seen(mock: Mock) -> None:
    scenario = """
        driver period_ms=1000 ring=10 clock=relative order=descending
        device 0
        series 0 memutil 0 5 3 6 4 7
    """
    seen = RELATIVE_BASE_US + 3_000_000
    answer = mock.ask(SAMPLES.format(kind=2, seen=seen), scenario, at_s=5.2)
    assert answer == [[seen + 2_000_000, 7], [seen + 1_000_000, 6]]
    nothing = mock.ask(f"error(nv.nvmlDeviceGetSamples, gpu, 2, {seen + 9_000_000})", scenario)
    assert nothing == "NVMLError_NotFound"


@pytest.mark.parametrize(
    ("clock", "now"), [("epoch", time.CLOCK_REALTIME), ("boot", time.CLOCK_BOOTTIME)]
)
def test_time_stamps_are_in_the_clock_asked_for(mock: Mock, clock: str, now: int) -> None:
    scenario = f"driver period_ms=10 clock={clock}\ndevice 0\n"
    before_us = time.clock_gettime_ns(now) // 1000
    samples = mock.ask(SAMPLES.format(kind=1, seen=0), scenario, at_s=1)
    after_us = time.clock_gettime_ns(now) // 1000
    assert before_us - 20_000 <= samples[-1][0] <= after_us


def test_an_idle_driver_may_have_no_samples(mock: Mock) -> None:
    code = "error(nv.nvmlDeviceGetSamples, gpu, 1, 0)"
    idle = "driver dry_when_idle=1\ndevice 0\nseries 0 util 0 0\n"
    assert mock.ask(code, idle, at_s=60) == "NVMLError_NotFound"
    was_busy = "driver dry_when_idle=1 period_ms=100\ndevice 0\nseries 0 util 0 50 1 0\n"
    told = "[s.sampleValue.uiVal for s in nv.nvmlDeviceGetSamples(gpu, 1, 0)[1]]"
    assert mock.ask(told, was_busy, at_s=60) == [50] * 10  # entries, however old
    short = was_busy.replace("idle=1", "idle=1 ring=4")
    assert mock.ask(told, short, at_s=60) == [50] * 4


def test_energy_power_and_throttle_reasons(mock: Mock) -> None:
    scenario = """
        device 0
        series 0 power 0 50 2 0
        series 0 throttle 0 0x04 1 0x24
    """
    code = (
        "[nv.nvmlDeviceGetTotalEnergyConsumption(gpu), nv.nvmlDeviceGetPowerUsage(gpu),"
        " nv.nvmlDeviceGetCurrentClocksThrottleReasons(gpu),"
        " nv.nvmlDeviceGetCurrentClocksEventReasons(gpu), nv.nvmlDeviceGetTemperature(gpu, 0)]"
    )
    assert mock.ask(code, scenario, at_s=30) == [100_000, 0, 0x24, 0x24, 45]
    constant = mock.ask(code, "device 0 power_w=70 energy_mj=1000 temp_c=61", at_s=30)
    assert constant[0] % 7000 == 1000  # in steps of 100 ms at 70 W
    assert constant[0] >= 2_101_000
    assert constant[1:] == [70_000, 0, 0, 61]


def test_processes_come_and_go(mock: Mock) -> None:
    scenario = """
        device 0
        proc 0 pid=11 t0=0 t1=5 mem_mib=100
        proc 0 pid=12 t0=4 mem_mib=200
    """
    code = (
        "[[p.pid, p.usedGpuMemory >> 20] for p in nv.nvmlDeviceGetComputeRunningProcesses(gpu)]"
        " + nv.nvmlDeviceGetGraphicsRunningProcesses(gpu)"
    )
    assert mock.ask(code, scenario, at_s=1) == [[11, 100]]
    assert mock.ask(code, scenario, at_s=4.1) == [[11, 100], [12, 200]]
    assert mock.ask(code, scenario, at_s=6) == [[12, 200]]
    assert mock.ask(code, "device 0\n") == []


def test_what_is_not_supported_says_so(mock: Mock) -> None:
    code = (
        "[error(nv.nvmlDeviceGetMigMode, gpu), error(nv.nvmlDeviceGetComputeMode, gpu),"
        " error(nv.nvmlDeviceGetFanSpeed, gpu), error(nv.nvmlDeviceGetSerial, gpu),"
        " nv.nvmlDeviceGetAccountingMode(gpu)]"
    )
    assert mock.ask(code) == ["NVMLError_NotSupported"] * 4 + [0]


def test_the_examples_of_the_readme_are_scenarios(mock: Mock) -> None:
    readme = (REPOSITORY / "native" / "mock_nvml" / "README.md").read_text()
    examples = re.findall(r"^```\n(.*?)^```", readme.partition("## Examples")[2], re.M | re.S)
    answers = [mock.ask("nv.nvmlDeviceGetCount()", example) for example in examples]
    assert answers == [1, 2]


def test_uninitialised_use_is_an_error(mock: Mock) -> None:
    code = "[nv.nvmlShutdown(), error(nv.nvmlDeviceGetCount), error(nv.nvmlShutdown)]"
    assert mock.ask(code) == [None, "NVMLError_Uninitialized", "NVMLError_Uninitialized"]


def test_threads_share_the_library(mock: Mock) -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
scan = lambda _: [nv.nvmlDeviceGetUtilizationRates(gpu).gpu for _ in range(500)]
with ThreadPoolExecutor(8) as pool:
    print(sorted({type(u).__name__ for us in pool.map(scan, range(8)) for u in us}))
"""
    done = mock.run(PRELUDE + code)
    assert (done.stdout, done.stderr) == ("['int']\n", "")


def test_processes_with_one_t0_see_one_time_line(mock: Mock) -> None:
    scenario = (
        "driver clock=relative period_ms=50 ring=400\ndevice 0\nseries 0 util linear 0 0 9 90"
    )
    code = SAMPLES.format(kind=1, seen=RELATIVE_BASE_US)
    variables = mock.environment(scenario, 8)
    runs = [
        subprocess.run(
            [sys.executable, "-c", f"{PRELUDE}\nprint(json.dumps({code}))"],
            env=variables,
            capture_output=True,
            check=True,
        )
        for _ in range(2)
    ]
    first, second = (json.loads(run.stdout) for run in runs)
    assert len(first) >= 160
    assert second[: len(first)] == first


def test_only_nvml_names_are_exported(mock_library: Path) -> None:
    table = subprocess.run(
        ["nm", "-D", "--defined-only", mock_library], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in table.stdout.splitlines()]
    assert "nvmlMockVersion" in names
    assert [name for name in names if not name.startswith("nvml")] == []


def test_the_library_has_no_means_to_start_threads_or_to_allocate(mock_library: Path) -> None:
    """Only stdio and getline do, while a scenario is read."""
    table = subprocess.run(
        ["nm", "-D", "--undefined-only", mock_library], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].partition("@")[0] for line in table.stdout.splitlines()}
    assert {"snprintf", "nanosleep"} <= names
    means = {"malloc", "calloc", "realloc", "pthread_create", "fork", "dlopen", "opendir"}
    assert names & means == set()


def test_the_mock_says_that_it_is_one(mock_library: Path) -> None:
    version = ctypes.CDLL(str(mock_library)).nvmlMockVersion
    version.restype = ctypes.c_char_p
    assert re.fullmatch(rb"\d+\.\d+\.\d+", version())
