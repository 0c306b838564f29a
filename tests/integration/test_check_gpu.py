"""`gpu-probe --check`: what is to be done about GPUs that were not found, or are in doubt."""

from collections.abc import Callable

import pytest

from helpers.checks import check
from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]
DEVICE = "device 0 name=Tesla uuid=GPU-a\nseries 0 util 0 50\n"


@pytest.mark.parametrize(("gpus", "key"), [("0,5", "gpu.scope"), ("5", "gpu.devices")])
def test_a_device_that_is_not_there_has_a_next_step(
    gpu_wrapper: Wrapper, scenario: Scenario, gpus: str, key: str
) -> None:
    scenario(DEVICE)
    row = check(gpu_wrapper, options=["--gpus", gpus])[key]
    assert row["reason"] == "--gpus: '5': no such device (there is only 0)"
    assert row["next_step"].startswith("correct --gpus or GPU_PROBE_GPUS")


@pytest.mark.parametrize(("names", "order"), [("AA", False), ("AB", True)])
def test_the_order_of_devices_is_only_to_be_set_where_it_is_the_doubt(
    gpu_wrapper: Wrapper, scenario: Scenario, names: str, order: bool
) -> None:
    scenario("".join(f"device {i} name={name}\n" for i, name in enumerate(names)))
    variables = {"CUDA_VISIBLE_DEVICES": "0"} if order else {"SLURM_STEP_GPUS": "1"}
    row = check(gpu_wrapper, **variables)["gpu.scope"]
    assert "--gpus" in row["next_step"]
    assert ("CUDA_DEVICE_ORDER" in row["next_step"]) == order


def test_a_library_that_is_not_there_is_to_be_corrected(wrapper: Wrapper) -> None:
    row = check(wrapper, options=["--nvml-library", "/nope"])["gpu.driver"]
    assert row["next_step"] == "check --nvml-library or GPU_PROBE_NVML_LIBRARY"


def test_an_instance_has_no_figure_of_the_memory_controller(
    gpu_wrapper: Wrapper, scenario: Scenario
) -> None:
    scenario("device 0 gpm=1\nmig 0 0\nseries 0.0 util 0 60\n")
    row = check(gpu_wrapper)["gpu.mem_bw_util@0"]
    assert row["reason"] == "GPM does not tell it"
