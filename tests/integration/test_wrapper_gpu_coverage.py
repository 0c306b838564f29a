"""What is said of a device that was watched for a part of the time only, on the mock driver."""

import time
from collections.abc import Callable

from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]


def test_a_busy_device_that_nobody_watched_is_not_called_unused(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("device 0\nseries 0 util 0 90\nhang nvmlDeviceGetSamples from=0.3\n")
    done = gpu_wrapper.run("sleep", "4", options=["--summary"])
    assert done.stderr.startswith("gpu-probe: GPU utilization could not be measured")
    trace = gpu_wrapper.trace()
    for block in (trace["gpu"], trace["gpu"]["devices"][0]):
        assert {"pct", "peak", "active_time", "coverage"}.isdisjoint(block)
    assert "gpu.utilization" not in trace["probe"]["sources"]


def test_the_first_second_is_known_soon(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario("device 0\nseries 0 util 0 90\nhang nvmlDeviceGetSamples from=61.4\n")
    at = str(time.monotonic_ns() - 60 * 10**9)
    gpu_wrapper.run("sleep", "2", NVMLMOCK_T0=at)
    gpu = gpu_wrapper.trace()["gpu"]
    assert (gpu["pct"], gpu["peak"]) == (90, 90)
    assert 0.2 <= gpu["devices"][0]["coverage"] <= 0.7


def test_a_device_that_was_hardly_watched_is_not_called_unused(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("device 0\nhang nvmlDeviceGetSamples from=61.4\n")
    at = str(time.monotonic_ns() - 60 * 10**9)
    done = gpu_wrapper.run("sleep", "3", options=["--summary"], NVMLMOCK_T0=at)
    observed = round(100 * gpu_wrapper.trace()["probe"]["coverage"])
    assert done.stderr.startswith(f"gpu-probe: GPU observed only {observed} % of the time")


def test_a_device_that_was_watched_and_idle_is_called_unused(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("driver dry_when_idle=1\ndevice 0\n")  # its ring has no entry, ever
    done = gpu_wrapper.run("sleep", "2.5", options=["--summary"])
    assert done.stderr.startswith("gpu-probe: GPU never used")
    trace = gpu_wrapper.trace()
    assert (trace["gpu"]["pct"], trace["gpu"]["peak"]) == (0, 0)
    assert trace["probe"]["coverage"] >= 0.5
