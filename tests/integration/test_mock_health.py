"""Identity, health, field values and events on the mock driver, as the pynvml module reads them."""

import json
import time
from pathlib import Path

import pytest

from helpers.mock_driver import PRELUDE, Mock


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


def test_identity_that_a_scenario_gives(mock: Mock) -> None:
    scenario = """
        driver cuda=12040
        device 0
        device 1 serial=1320 pci=0001:c1:00.0 minor=7 numa=2 arch=hopper compute=9.0
    """
    code = (
        "(lambda d: [nv.nvmlSystemGetCudaDriverVersion(), nv.nvmlDeviceGetMinorNumber(d),"
        " nv.nvmlDeviceGetNumaNodeId(d), nv.nvmlDeviceGetArchitecture(d),"
        " nv.nvmlDeviceGetCudaComputeCapability(d), nv.nvmlDeviceGetSerial(d),"
        " nv.nvmlDeviceGetPciInfo(d).busId, nv.nvmlDeviceGetPciInfo(d).bus,"
        " [nv.nvmlDeviceGetIndex(h) for h in (nv.nvmlDeviceGetHandleBySerial('1320'),"
        " nv.nvmlDeviceGetHandleByPciBusId('00000001:C1:00.0'),"
        " nv.nvmlDeviceGetHandleByPciBusId('0000:01:00.0'))]])(nv.nvmlDeviceGetHandleByIndex(1))"
    )
    assert mock.ask(code, scenario) == [
        *[12040, 7, 2, 9, [9, 0], "1320", "00000001:C1:00.0", 0xC1],
        [1, 1, 0],
    ]


@pytest.mark.parametrize(
    "call",
    [
        "NumaNodeId(gpu)",
        "Architecture(gpu)",
        "CudaComputeCapability(gpu)",
        "Serial(gpu)",
        "ClockInfo(gpu, 1)",
        "MaxClockInfo(gpu, 2)",
        "TotalEccErrors(gpu, 0, 0)",
        "MemoryErrorCounter(gpu, 1, 0, 2)",
        "RemappedRows(gpu)",
        "RetiredPages(gpu, 1)",
        "FanSpeed(gpu)",
    ],
)
def test_what_a_scenario_does_not_give_is_not_supported(mock: Mock, call: str) -> None:
    code = f"error(lambda: nv.nvmlDeviceGet{call})"
    assert mock.ask(code, "device 0\n") == "NVMLError_NotSupported"


HEALTH = """
device 0 max_sm_mhz=1980 max_mem_mhz=2619 video_mhz=1545 power_w=700 remapped_corrected=1
series 0 temp 0 40 5 81.5
series 0 mem_temp 0 95
series 0 clock_sm linear 0 1000 10 2000
series 0 clock_mem 0 2619
series 0 ecc_sbe 0 2
series 0 ecc_dbe 0 0 5 1
series 0 remapped 5 3
series 0 retired 5 2
series 0 power 0 0 19.5 100
"""


def test_readings_follow_their_series(mock: Mock) -> None:
    code = (
        "[nv.nvmlDeviceGetTemperature(gpu, 0), nv.nvmlDeviceGetTemperatureV(gpu, 0),"
        " [nv.nvmlDeviceGetClockInfo(gpu, i) for i in range(4)],"
        " [nv.nvmlDeviceGetMaxClockInfo(gpu, i) for i in range(4)],"
        " [nv.nvmlDeviceGetTotalEccErrors(gpu, i, 0) for i in range(2)],"
        " [nv.nvmlDeviceGetMemoryErrorCounter(gpu, 1, 0, i) for i in (1, 2)],"
        " nv.nvmlDeviceGetEccMode(gpu), nv.nvmlDeviceGetRemappedRows(gpu),"
        " [len(nv.nvmlDeviceGetRetiredPages(gpu, i)) for i in range(2)],"
        " nv.nvmlDeviceGetPowerManagementLimit(gpu), nv.nvmlDeviceGetEnforcedPowerLimit(gpu)]"
    )
    clocks, most = [2000, 2000, 2619, 1545], [1980, 1980, 2619, 1545]
    expected = [81, 81, clocks, most, [2, 1], [0, 1], [1, 1], [1, 3, 0, 0], [0, 2]]
    assert mock.ask(code, HEALTH, at_s=30) == [*expected, 700_000, 700_000]
    before = mock.ask(code, HEALTH, at_s=1)
    assert before[:2] == [40, 40]
    assert 1100 <= before[2][1] < 1300
    assert [before[i] for i in (4, 5, 7, 8)] == [[2, 0], [0, 0], [1, 0, 0, 0], [0, 0]]


def test_field_values_have_a_code_each(mock: Mock) -> None:
    fields = [83, 82, 142, 143, 144, 145, 29, 30, 4, 1, 186, 190, 138, 0]
    code = (
        f"[[v.nvmlReturn, v.timestamp, v.value.ullVal if v.valueType == 3 else v.value.uiVal]"
        f" for v in nv.nvmlDeviceGetFieldValues(gpu, {fields})]"
    )
    before_us = time.time_ns() // 1000
    answer = mock.ask(code, "driver clock=boot\n" + HEALTH, at_s=30)
    after_us = time.time_ns() // 1000
    assert [rc for rc, _, _ in answer] == [0] * 12 + [3, 3]
    assert all(before_us - 1000 <= stamp <= after_us + 1000 for _, stamp, _ in answer)
    values = [value for _, _, value in answer[1:12]]
    assert values == [95, 1, 3, 0, 0, 0, 2, 1, 1, 100_000, 700_000]
    energy_mj = answer[0][2]
    assert 1_050_000 <= energy_mj <= 1_400_000  # 100 W since 19.5 s, read at 30 s or a little later
    average = "nv.nvmlDeviceGetFieldValues(gpu, [185])[0].value.uiVal"
    assert mock.ask(average, HEALTH, at_s=30) == 100_000
    assert 0 < mock.ask(average, "device 0\nseries 0 power 0 0 10 100 11 0", at_s=11.2) < 100_000


EVENTS = """
device 0
device 1
mig 1 2 gi=3 ci=1
event 0 t=6 type=ecc_dbe data=1
event 0 t=5.5 type=xid data=31
event 1 t=5.5 type=xid data=94 mig=2
event 0 t=0.5 type=xid data=13
"""
# What a set that listens to device 0, and to Xids of device 1, hears in the next calls.
LISTEN = (
    PRELUDE
    + """
import ctypes, time
events = nv.nvmlEventSetCreate()
devices = [nv.nvmlDeviceGetHandleByIndex(i) for i in range(2)]
nv.nvmlDeviceRegisterEvents(devices[0], 0x1 | 0x2 | 0x8, events)
nv.nvmlDeviceRegisterEvents(devices[1], 0x8, events)
def hear(timeout_ms):
    data = nv.c_nvmlEventData_t()
    rc = nv.nvmlLib.nvmlEventSetWait_v2(events, ctypes.byref(data), timeout_ms)
    if rc:
        return rc
    device = nv.nvmlDeviceGetIndex(data.device)
    return [device, data.eventType, data.eventData, data.gpuInstanceId, data.computeInstanceId]
"""
)
NONE = 2**32 - 1


def test_events_come_once_each_and_in_order(mock: Mock) -> None:
    code = "print(json.dumps([hear(0), *[hear(5000) for _ in range(3)], hear(0)]))"
    done = mock.run(f"{LISTEN}\n{code}", EVENTS, at_s=4.5)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [
        10,  # what was before it listened is not told
        [0, 8, 31, NONE, NONE],
        [1, 8, 94, 3, 1],
        [0, 2, 1, NONE, NONE],
        10,
    ]


def test_waiting_takes_as_long_as_asked(mock: Mock) -> None:
    code = "t = time.monotonic()\nrc = hear(100)\nprint(rc, time.monotonic() - t)"
    rc, took_s = mock.run(f"{LISTEN}\n{code}", EVENTS, at_s=60).stdout.split()
    assert rc == "10"
    assert float(took_s) >= 0.1


def test_the_first_version_writes_no_instance(mock: Mock) -> None:
    code = """
data = (ctypes.c_ubyte * 32)(*[0xA5] * 32)
rc = nv.nvmlLib.nvmlEventSetWait(events, ctypes.byref(data), 5000)
print(rc, data[16], list(data[24:]) == [0xA5] * 8)
"""
    assert mock.run(f"{LISTEN}\n{code}", EVENTS, at_s=5).stdout == "0 31 True\n"


def test_events_that_no_driver_has(mock: Mock) -> None:
    code = """
print(error(nv.nvmlDeviceRegisterEvents, devices[0], 1 << 40, events),
      error(nv.nvmlDeviceRegisterEvents, nv.nvmlDeviceGetMigDeviceHandleByIndex(devices[1], 2),
            8, events),
      nv.nvmlEventSetFree(events), error(nv.nvmlEventSetFree, events), hear(0))
"""
    refused = "NVMLError_NotSupported"
    expected = f"{refused} {refused} None NVMLError_InvalidArgument 2\n"
    assert mock.run(f"{LISTEN}\n{code}", EVENTS).stdout == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("event 0 t=1", "event: t= or type= is missing"),
        ("event 0 type=xid t=1 data=-1", "data=-1: allowed is a whole number from 0 to 4294967295"),
        ("event 0 t=1 type=xid mig=0", "mig=0: not an instance declared above this line"),
        ("device 1 pci=01:00", "pci=01:00: allowed is DOMAIN:BUS:DEVICE.0 in hexadecimal"),
    ],
)
def test_mistakes(mock: Mock, line: str, message: str) -> None:
    done = mock.run("import pynvml; pynvml.nvmlInit()", f"device 0\n{line}\n")
    assert done.stderr.splitlines()[0].endswith(message)
