"""Divided devices (MIG) on the mock driver, as the pynvml module sees them."""

from pathlib import Path

import pytest

from helpers.mock_driver import Mock

SCENARIO = """
device 0 name="Mock A100" mem_mib=40960
device 1
mig 0 0 gi=7 ci=0 mem_mib=4864 slices=1
mig 0 2 gi=3 ci=1 mem_mib=19968 slices=4 compute_slices=2 multiprocessors=56
mig 0 5 gi=5 ci=0 mem_mib=9984 name="Mock slice" uuid=MIG-aaaa slices=2
series 0 mem 0 5000
series 0.2 mem 0 123
proc 0 pid=11 mig=2 mem_mib=100
proc 0 pid=12 mig=5 mem_mib=200
"""
MIG = "nv.nvmlDeviceGetMigDeviceHandleByIndex(gpu, {index})"


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


def test_indices_have_gaps(mock: Mock) -> None:
    code = (
        "[nv.nvmlDeviceGetMaxMigDeviceCount(gpu), nv.nvmlDeviceGetMigMode(gpu),"
        " [error(lambda: nv.nvmlDeviceGetName(nv.nvmlDeviceGetMigDeviceHandleByIndex(gpu, i)))"
        "  for i in range(8)]]"
    )
    missing = "NVMLError_NotFound"
    names = ["Mock A100 MIG 1g.4gb", missing, "Mock A100 MIG 4g.19gb", missing, missing]
    names += ["Mock slice", missing, "NVMLError_InvalidArgument"]
    assert mock.ask(code, SCENARIO) == [7, [1, 1], names]


def test_identity_of_an_instance(mock: Mock) -> None:
    code = (
        "(lambda m: [nv.nvmlDeviceIsMigDeviceHandle(m).value,"
        " nv.nvmlDeviceIsMigDeviceHandle(gpu).value,"
        " nv.nvmlDeviceGetUUID(m), nv.nvmlDeviceGetGpuInstanceId(m),"
        " nv.nvmlDeviceGetComputeInstanceId(m),"
        " nv.nvmlDeviceGetName(nv.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m)),"
        " nv.nvmlDeviceGetName(nv.nvmlDeviceGetHandleByUUID('MIG-aaaa')),"
        " (lambda a: [a.multiprocessorCount, a.gpuInstanceSliceCount,"
        "  a.computeInstanceSliceCount, a.memorySizeMB])(nv.nvmlDeviceGetAttributes_v2(m))])"
        f"({MIG.format(index=2)})"
    )
    uuid = "MIG-6d6f636b-0000-4000-8000-000000000002"
    assert mock.ask(code, SCENARIO) == [
        *[1, 0, uuid, 3, 1, "Mock A100", "Mock slice"],
        [56, 4, 2, 19968],
    ]


def test_memory_and_processes_are_those_of_the_instance(mock: Mock) -> None:
    code = (
        "[[[m.total >> 20, m.used >> 20] for m in (nv.nvmlDeviceGetMemoryInfo(h),"
        " nv.nvmlDeviceGetMemoryInfo(h, version=nv.nvmlMemory_v2))]"
        " + [[[p.pid, p.gpuInstanceId, p.computeInstanceId]"
        "  for p in nv.nvmlDeviceGetComputeRunningProcesses(h)]]"
        f" for h in ({MIG.format(index=2)}, gpu)]"
    )
    assert mock.ask(code, SCENARIO) == [
        [[19968, 123], [19968, 123], [[11, 3, 1]]],
        [[40960, 5000], [40960, 5000], [[11, 3, 1], [12, 5, 0]]],
    ]


REFUSED = [
    "nv.nvmlDeviceGetUtilizationRates(h)",
    "nv.nvmlDeviceGetSamples(h, 1, 0)",
    "nv.nvmlDeviceGetProcessUtilization(h, 0)",
    "nv.nvmlDeviceGetAccountingMode(h)",
    "nv.nvmlDeviceGetAccountingPids(h)",
]


@pytest.mark.parametrize("handle", ["gpu", MIG.format(index=0)], ids=["parent", "instance"])
def test_what_a_divided_device_refuses(mock: Mock, handle: str) -> None:
    calls = ", ".join(f"error(lambda: {call})" for call in REFUSED)
    scenario = f"driver accounting=1\n{SCENARIO}"
    answer = mock.ask(f"(lambda h: [{calls}])({handle})", scenario)
    assert answer == ["NVMLError_NotSupported"] * len(REFUSED)


@pytest.mark.parametrize(
    "call", ["PowerUsage(m)", "TotalEnergyConsumption(m)", "Temperature(m, 0)", "Index(m)"]
)
def test_what_only_a_whole_device_has(mock: Mock, call: str) -> None:
    code = f"(lambda m: error(lambda: nv.nvmlDeviceGet{call}))({MIG.format(index=0)})"
    assert mock.ask(code, SCENARIO) == "NVMLError_NotSupported"


def test_the_parents_memory_may_need_privileges(mock: Mock) -> None:
    scenario = "device 0 mig_parent_memory=0\nmig 0 0 mem_mib=10\n"
    memory = "error(lambda: nv.nvmlDeviceGetMemoryInfo({handle}).total >> 20)"
    code = f"[{memory.format(handle='gpu')}, {memory.format(handle=MIG.format(index=0))}]"
    assert mock.ask(code, scenario) == ["NVMLError_NoPermission", 10]


def test_a_device_may_be_divided_into_nothing_or_not_yet(mock: Mock) -> None:
    code = (
        "[nv.nvmlDeviceGetMigMode(gpu), nv.nvmlDeviceGetMaxMigDeviceCount(gpu),"
        " error(nv.nvmlDeviceGetMigDeviceHandleByIndex, gpu, 0)]"
    )
    assert mock.ask(code, "device 0 mig=on\n") == [[1, 1], 7, "NVMLError_NotFound"]
    assert mock.ask(code, "device 0 mig=off\n") == [[0, 0], 0, "NVMLError_NotSupported"]


def test_faults_and_the_log_know_instances(mock: Mock, tmp_path: Path) -> None:
    log = tmp_path / "calls.log"
    code = (
        "import pynvml as nv; nv.nvmlInit(); g = nv.nvmlDeviceGetHandleByIndex(0)\n"
        "for i in (0, 2):\n"
        "    m = nv.nvmlDeviceGetMigDeviceHandleByIndex(g, i)\n"
        "    try: nv.nvmlDeviceGetName(m)\n"
        "    except nv.NVMLError: pass\n"
    )
    fault = "fail nvmlDeviceGetName dev=0 mig=2 code=GPU_IS_LOST\n"
    assert mock.run(code, SCENARIO + fault, NVMLMOCK_LOG=str(log)).returncode == 0
    names = [line.split()[2:] for line in log.read_text().splitlines() if "GetName" in line]
    assert names == [["nvmlDeviceGetName", "0.0", "0"], ["nvmlDeviceGetName", "0.2", "15"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mig 0 7", "mig INDEX 7: allowed is less than mig_max, 7"),
        ("mig 0 0\nmig 0 0", "mig: device 0 has an instance 0 already"),
        ("mig 0 0 mem_mib=99999", "mem_mib=99999: allowed is at most the device's, 16384"),
        ("series 0.1 mem 0 1", "0.1: not a mig N INDEX declared above this line"),
        ("proc 0 pid=1 mig=1", "mig=1: not an instance declared above this line"),
    ],
)
def test_mistakes(mock: Mock, line: str, message: str) -> None:
    done = mock.run("import pynvml; pynvml.nvmlInit()", f"device 0\n{line}\n")
    assert done.stderr.splitlines()[0].endswith(message)
