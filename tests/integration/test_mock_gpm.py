"""GPU performance monitoring (GPM) on the mock driver: differences of exact counters."""

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.mock_driver import PRELUDE, Mock

# take() reads the counters of a handle and says when; metrics() asks for the difference of two.
GPM = (
    PRELUDE
    + """
import time
def take(handle, mig=None):
    sample = nv.nvmlGpmSampleAlloc()
    before = time.monotonic_ns()
    if mig is None:
        nv.nvmlGpmSampleGet(handle, sample)
    else:
        nv.nvmlGpmMigSampleGet(handle, mig, sample)
    return sample, before, time.monotonic_ns()

def metrics(first, second, ids=(1, 2, 3, 5, 10), version=1):
    request = nv.c_nvmlGpmMetricsGet_t()
    request.version, request.numMetrics = version, len(ids)
    request.sample1, request.sample2 = first, second
    for i, metric in enumerate(ids):
        request.metrics[i].metricId = metric
    rc = nv.nvmlLib.nvmlGpmMetricsGet(nv.byref(request))
    return [rc, [[m.nvmlReturn, m.value] for m in request.metrics[: len(ids)]]]

def pass_time(t):
    end = time.monotonic() + t
    while time.monotonic() < end:
        pass
"""
)
SCENARIO = """
device 0 gpm=1
mig 0 0 gi=4
series 0 util 0 100
series 0 sm 0 62.5
series 0 occupancy 0 31.25
series 0 dram 0 12.5
series 0.0 util 0 7.125
"""


@pytest.fixture
def mock(mock_library: Path, tmp_path: Path) -> Mock:
    return Mock(library=mock_library, directory=tmp_path)


def ask(mock: Mock, code: str, scenario: str, at_s: float = 1) -> Any:  # noqa: ANN401
    done = mock.run(f"{GPM}\n{code}", scenario, at_s=at_s)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_support_is_said(mock: Mock) -> None:
    code = "nv.nvmlGpmQueryDeviceSupport(gpu).isSupportedDevice"
    assert mock.ask(code, "device 0 gpm=1\n") == 1
    assert mock.ask(code, "device 0\n") == 0
    refused = "error(lambda: nv.nvmlGpmSampleGet(gpu, nv.nvmlGpmSampleAlloc()))"
    assert mock.ask(refused, "device 0\n") == "NVMLError_NotSupported"


def test_constant_loads_are_exact_and_unknown_ones_absent(mock: Mock) -> None:
    code = "a = take(gpu)[0]\nb = take(gpu)[0]\nprint(json.dumps(metrics(a, b)))"
    rc, values = ask(mock, code, SCENARIO)
    assert rc == 0
    assert [code for code, _ in values] == [0, 0, 0, 3, 0]  # no tensor series
    assert [values[i][1] for i in (0, 1, 2, 4)] == [100, 62.5, 31.25, 12.5]


def test_a_mean_is_that_between_the_two_readings(mock: Mock) -> None:
    """A load that rises by 10 % each second: its mean is that in the middle of the interval."""
    code = """
a, a0, a1 = take(gpu)
pass_time(0.3)
b, b0, b1 = take(gpu)
t0 = int(__import__("os").environ["NVMLMOCK_T0"])
print(json.dumps([metrics(a, b, [1]), [(x - t0) / 1e9 for x in (a0, a1, b0, b1)]]))
"""
    scenario = "device 0 gpm=1\nseries 0 util linear 0 0 10 100\n"
    (rc, [[code_of_metric, value]]), (a0, a1, b0, b1) = ask(mock, code, scenario)
    assert (rc, code_of_metric) == (0, 0)
    assert 10 * (a0 + b0) / 2 <= value <= 10 * (a1 + b1) / 2


def test_instances_have_counters_of_their_own(mock: Mock) -> None:
    code = """
mig = nv.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
a, b, c, d = take(gpu, 4)[0], take(gpu, 4)[0], take(mig)[0], take(gpu)[0]
print(json.dumps([metrics(a, b, [1, 2]), metrics(a, c, [1]), metrics(a, d, [1])[0],
    error(lambda: take(gpu, 5))]))
"""
    own, by_handle, mixed, missing = ask(mock, code, SCENARIO)
    assert own[0] == 0
    assert own[1][0] == [0, 7.125]
    assert own[1][1][0] == 3
    assert by_handle == [0, [[0, 7.125]]]
    assert mixed == 2  # readings of two things have no difference
    assert missing == "NVMLError_NotFound"


def test_bad_requests(mock: Mock) -> None:
    code = """
a, b, empty = take(gpu)[0], take(gpu)[0], nv.nvmlGpmSampleAlloc()
print(json.dumps([metrics(a, b, [1], version=2)[0], metrics(b, a, [1])[0],
    metrics(a, empty, [1])[0], metrics(a, a, [1])[0], metrics(a, b, [0, 9999, 248])[1],
    metrics(a, b, [])[0],
    [nv.nvmlLib.nvmlGpmSampleFree(a) for _ in range(2)], metrics(a, b, [1])[0]]))
"""
    answer = ask(mock, code, SCENARIO)
    assert answer[:4] == [25, 2, 2, 2]
    assert [code for code, _ in answer[4]] == [2, 2, 3]
    assert answer[5:] == [0, [0, 2], 2]
