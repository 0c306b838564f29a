"""Public reports on what monitoring costs, each as a property of the driver's call log.

The number in a test's name is that of the report.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.replay import Call, Replay
from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]

REPOSITORY = Path(__file__).resolve().parents[2]
# What finds the devices and the ways to read them; everything else is a figure of the trace.
FINDING = re.compile(
    r"nvml(Init|DeviceGetCount|DeviceGetHandleBy|EventSetCreate|DeviceRegisterEvents"
    r"|DeviceGetMigMode|DeviceGetMaxMigDeviceCount|DeviceGetMigDeviceHandle|DeviceIsMig"
    r"|GpmQueryDeviceSupport|GpmSampleAlloc|GpmMigSampleGet|DeviceGetGpuInstanceId"
    r"|DeviceGetAccounting(Mode|Pids))"
)
# These ask the hardware's registers, which can stall every CPU of the machine.
REGISTERS = re.compile(r"Temperature|ClockInfo|Power|CurrentClocks")
SECONDS = 60


def devices(count: int, load: int = 80) -> str:
    """Devices that can tell everything."""
    return "".join(
        f"device {n} ecc=1 remapped_corrected=1\nseries {n} util 0 {load}\n"
        f"series {n} mem 0 {100 + n}\nseries {n} clock_sm 0 1500\n"
        for n in range(count)
    )


def amid(calls: list[Call]) -> list[Call]:
    """The calls after the first readings and before the last ones."""
    return [call for call in calls if 60 < call.at_s < 60 + SECONDS]


@pytest.mark.parametrize("count", [1, 16])
@pytest.mark.parametrize(
    ("load", "driver"),
    [
        (80, ""),
        (0, "driver dry_when_idle=1\n"),
        (80, "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n"),
    ],
    ids=["ring", "dry-ring", "rates"],
)
def test_a_device_costs_three_calls_a_second_at_most(
    replay: Replay, count: int, load: int, driver: str
) -> None:
    before, after = (driver, "") if driver.startswith("driver") else ("", driver)
    replay.run(before + devices(count, load) + after, seconds=SECONDS)
    after_first = [call for call in replay.calls() if call.at_s > 60]
    assert after_first[-1].at_s == 60 + SECONDS  # the last readings are among them
    assert len(after_first) / count / SECONDS <= 3


def test_row_70_process_lists_are_rare(replay: Replay) -> None:
    """See github.com/flightlessmango/MangoHud/pull/2104: milliseconds each, under a global lock."""
    replay.run(devices(2), seconds=SECONDS)
    lists = Counter(
        (call.function, call.device) for call in replay.calls() if "Processes" in call.function
    )
    assert max(lists.values(), default=0) <= 1 + SECONDS / 30 + 1


def test_row_71_nothing_is_asked_that_is_not_told(replay: Replay) -> None:
    """See github.com/flightlessmango/MangoHud/pull/1307: each figure names its source."""
    replay.run(devices(1), seconds=SECONDS)
    documented = (REPOSITORY / "docs/trace-format.md").read_text()
    asked = {call.function for call in replay.calls() if not FINDING.match(call.function)}
    assert {name for name in asked if name not in documented} == set()


def test_row_72_one_thread_asks_and_never_what_blocks(replay: Replay) -> None:
    """See github.com/zml/zml/pull/766: threads queue up at one lock; PCIe reads block."""
    replay.run(devices(16), seconds=SECONDS)
    threads = {line.split()[1] for line in replay.log.read_text().splitlines()}
    assert len(threads) == 1
    assert not [call for call in replay.calls() if re.search("Pcie|Fan", call.function)]


def test_row_73_the_default_interval_is_a_second(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    """See github.com/Syllo/nvtop/issues/365: polling every 100 ms slows the application."""
    scenario(devices(1))
    assert gpu_wrapper.run("true").returncode == 0
    assert gpu_wrapper.trace()["probe"]["interval_ms"] == 1000


def test_row_74_registers_are_not_read_each_tick(replay: Replay) -> None:
    """See github.com/NVIDIA/open-gpu-kernel-modules/issues/1248: each read stalls the machine."""
    replay.run(devices(1), seconds=SECONDS)
    reads: dict[str, list[float]] = {}
    for call in amid(replay.calls()):
        if REGISTERS.search(call.function):
            reads.setdefault(call.function, []).append(call.at_s)
    assert min(map(len, reads.values())) > 5  # a busy device is looked at
    for times in reads.values():
        assert all(b - a >= 5 for a, b in itertools.pairwise(times))


def test_row_75_an_idle_device_is_left_alone(replay: Replay) -> None:
    """See github.com/henrygd/beszel/issues/1522: polling keeps GPUs awake.

    Memory and the ring come from the driver's own memory; nothing else is asked of the device.
    """
    replay.run("driver dry_when_idle=1\n" + devices(1, load=0), seconds=SECONDS)
    asked = {call.function for call in amid(replay.calls()) if call.device is not None}
    assert {name for name in asked if "Process" not in name} == {
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetSamples",
        "nvmlDeviceGetUtilizationRates",
    }


def test_rows_76_77_78_nvml_lives_in_one_process_that_never_forks(
    gpu_wrapper: Wrapper, scenario: Scenario, tmp_path: Path
) -> None:
    """The reports are NVIDIA/cuCascade/pull/138, geopm/geopm/pull/3083 and another.

    The third is plasma-umass/scalene/pull/169: state that a fork copies is not valid in the child.
    """
    scenario(devices(1))
    log = tmp_path / "calls.log"
    script = "(sleep 0.3) & wait; echo $$ $PPID"
    done = gpu_wrapper.run("sh", "-c", script, NVMLMOCK_LOG=str(log))
    lines = [line.split() for line in log.read_text().splitlines()]
    [caller] = {line[1] for line in lines}
    assert caller not in done.stdout.split()  # neither the task nor the wrapper
    assert [line[2] for line in lines].count("nvmlInit_v2") == 1


def test_row_79_the_task_inherits_nothing_of_nvml(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    """See github.com/vllm-project/vllm/issues/32611: CUDA breaks in the child."""
    scenario(devices(1))
    done = gpu_wrapper.run("sh", "-c", "sleep 0.3; cat /proc/self/maps /proc/$PPID/maps")
    assert done.stdout
    assert "nvidia" not in done.stdout
    assert gpu_wrapper.trace()["gpu"]["avg_mem"] == 100  # it was read all the same


def test_row_80_without_a_gpu_there_is_no_helper(wrapper: Wrapper) -> None:
    """See github.com/Dstack-TEE/dstack/pull/1184."""
    if any(Path("/dev", node).exists() for node in ("nvidiactl", "nvidia-caps", "dxg")):
        pytest.skip("this host has a GPU")
    done = wrapper.run("sh", "-c", "sleep 0.2; echo $$; cat /proc/$PPID/task/*/children")
    own, children = done.stdout.split("\n", 1)
    assert children.split() == [own]
    assert "gpu" not in wrapper.trace()


def test_row_81_no_devices_no_block(replay: Replay) -> None:
    """See github.com/dask/distributed/pull/4873: a driver without any."""
    result = replay.run("driver version=580.1\n", seconds=SECONDS)
    assert "gpu" not in result
    assert result["probe"]["notes"] == ["the driver shows no device here"]
    assert amid(replay.calls()) == []


def test_the_helper_of_sixteen_devices_is_small(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(devices(16))
    script = (
        "sleep 1.2; for pid in $(cat /proc/$PPID/task/*/children); do cat /proc/$pid/status; done"
    )
    status = gpu_wrapper.run("sh", "-c", script).stdout
    helper = status.split("gpu-probe-nvml", 1)[1].split("Name:", 1)[0]
    resident = re.search(r"VmHWM:\s+(\d+) kB", helper)
    assert resident is not None
    assert int(resident[1]) <= 4096
    assert len(gpu_wrapper.trace()["gpu"]["devices"]) == 16
