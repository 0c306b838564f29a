"""The mock drivers of single branches: which functions they have, and how they answer."""

import ctypes
from pathlib import Path

import pytest

from helpers.mock_driver import Mock

BRANCHES = ["390", "418", "450", "470", "510", "525", "535a", "535", "550", "580", "615"]

# The first of BRANCHES that has each function.
FIRST = {
    "nvmlInit": "390",
    "nvmlInit_v2": "390",
    "nvmlDeviceGetUtilizationRates": "390",
    "nvmlDeviceGetSamples": "390",
    "nvmlDeviceGetMemoryInfo": "390",
    "nvmlDeviceGetComputeRunningProcesses": "390",
    "nvmlDeviceGetAccountingStats": "390",
    "nvmlEventSetWait": "390",
    "nvmlInitWithFlags": "418",
    "nvmlDeviceGetPciInfo_v3": "418",
    "nvmlDeviceGetProcessUtilization": "418",
    "nvmlDeviceGetTotalEnergyConsumption": "418",
    "nvmlDeviceGetFieldValues": "418",
    "nvmlDeviceGetMigMode": "450",
    "nvmlDeviceGetAttributes_v2": "450",
    "nvmlEventSetWait_v2": "450",
    "nvmlDeviceGetRemappedRows": "450",
    "nvmlDeviceGetMemoryInfo_v2": "510",
    "nvmlDeviceGetComputeRunningProcesses_v3": "510",
    "nvmlGpmSampleGet": "525",
    "nvmlDeviceGetRunningProcessDetailList": "535a",
    "nvmlDeviceGetCurrentClocksEventReasons": "535a",
    "nvmlDeviceGetProcessesUtilizationInfo": "550",
    "nvmlDeviceGetNumaNodeId": "550",
    "nvmlDeviceGetTemperatureV": "580",
    "nvmlDeviceGetAccountingStats_v2": "615",
    "nvmlDeviceGetMemoryLimits_v1": "615",
}


@pytest.fixture
def mock(branch: str, mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library.parent / branch / mock_library.name, directory=tmp_path)


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_has_its_functions_and_no_later_ones(mock: Mock, branch: str) -> None:
    library = ctypes.CDLL(str(mock.library))
    for name, first in FIRST.items():
        assert hasattr(library, name) == (BRANCHES.index(first) <= BRANCHES.index(branch)), name
    assert hasattr(library, "nvmlMockVersion")


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_has_its_version_and_ring(mock: Mock, branch: str) -> None:
    code = """
import ctypes, os
library = ctypes.CDLL("libnvidia-ml.so.1")
assert library.nvmlInit_v2() == 0
gpu, kind, count = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint()
version = ctypes.create_string_buffer(80)
assert library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)) == 0
assert library.nvmlSystemGetDriverVersion(version, 80) == 0
last = ctypes.c_ulonglong(0)
assert library.nvmlDeviceGetSamples(
    gpu, 1, last, ctypes.byref(kind), ctypes.byref(count), None) == 0
print(version.value.decode(), count.value)
"""
    version, ring = mock.run(code).stdout.split()
    assert version.startswith(branch.rstrip("a") + ".")
    assert int(ring) == (100 if BRANCHES.index(branch) < BRANCHES.index("525") else 72)


@pytest.mark.parametrize(("branch", "used_mib"), [("470", 100), ("510", 150), ("580", 150)])
def test_reserved_memory_counts_as_used_since_510(mock: Mock, used_mib: int) -> None:
    scenario = "device 0 reserved_mib=50\nseries 0 mem 0 100\n"
    assert mock.ask("nv.nvmlDeviceGetMemoryInfo(gpu).used >> 20", scenario) == used_mib


@pytest.mark.parametrize(
    ("branch", "pids"), [("510", [11, 12]), ("535", [11, 12]), ("535a", [11, 0])]
)
def test_the_first_535_drivers_have_longer_records(mock: Mock, pids: list[int]) -> None:
    """pynvml, which does not know them, reads the second process in the wrong place."""
    scenario = "device 0\nproc 0 pid=11\nproc 0 pid=12\n"
    code = "[p.pid for p in nv.nvmlDeviceGetComputeRunningProcesses(gpu)]"
    assert mock.ask(code, scenario) == pids
