"""Our declarations of NVML's interface, held against those of the pynvml module."""

import ctypes
import re
from pathlib import Path

import pynvml
import pytest

HEADER = Path(__file__).resolve().parents[2] / "native" / "include" / "nvml_types.h"
PYNVML = Path(pynvml.__file__)
ASSERTS = re.findall(
    r'_Static_assert\((.*?) == (\w+), *"(.*?)"\);', HEADER.read_text().replace("\n", " ")
)
SIZES = {
    text.removeprefix("layout of "): int(size) for _, size, text in ASSERTS if "layout of" in text
}
RENAMED = {
    "nvmlPciInfo_t": "nvmlPciInfo_t",
    "nvmlDeviceAttributes_t": "c_nvmlDeviceAttributes",
}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_sizes(name: str) -> None:
    if name == "nvmlProcessInfo_v1_t":  # the newer one's beginning; pynvml has only that
        theirs = pynvml.c_nvmlProcessInfo_v2_t.gpuInstanceId.offset
    else:
        theirs = ctypes.sizeof(getattr(pynvml, RENAMED.get(name, f"c_{name}")))
    assert SIZES[name] == theirs


def test_version_words() -> None:
    words = {name: int(word.rstrip("U"), 16) for name, word, _ in ASSERTS if "VERSION" in name}
    assert words == {
        "NVML_MEMORY_V2_VERSION": pynvml.nvmlMemory_v2,
        "NVML_PROCESS_DETAIL_LIST_VERSION": pynvml.nvmlProcessDetailList_v1,
        "NVML_PROCESSES_UTILIZATION_VERSION": pynvml.ProcessesUtilizationInfo_v1,
        "NVML_TEMPERATURE_VERSION": pynvml.nvmlTemperature_v1,
    }


def test_the_mock_has_every_function_that_pynvml_looks_up(mock_library: Path) -> None:
    looked_up = set(re.findall(r'_nvmlGetFunctionPointer\("(nvml\w+)"\)', PYNVML.read_text()))
    assert len(looked_up) > 100
    library = ctypes.CDLL(str(mock_library))
    assert {name for name in looked_up if not hasattr(library, name)} == set()


def test_a_function_that_the_mock_does_not_play_is_not_supported(mock_library: Path) -> None:
    library = ctypes.CDLL(str(mock_library))
    assert library.nvmlDeviceGetFanSpeed(None) == pynvml.NVML_ERROR_UNINITIALIZED
    assert library.nvmlInit_v2() == 0
    assert library.nvmlUnitGetCount(None) == pynvml.NVML_ERROR_NOT_SUPPORTED
    assert library.nvmlDeviceGetFanSpeed(None) == pynvml.NVML_ERROR_INVALID_ARGUMENT
    assert library.nvmlShutdown() == 0
