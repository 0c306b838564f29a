from fractions import Fraction as F

import pytest

from oracle import ScenarioError, Series, parse_scenario
from oracle.scenario import MIB, Process

TEXT = """
# a comment
driver version=470.256.02 period_ms=100   ring=100 # the rest
device 0 name="A # B" mem_mib=32768 reserved_mib=0.5 power_w=50.25
device 1
series 0 util   0 80  0.300 0
series 0 mem linear 0 310.5 2 2048
series 1 throttle 0 0x04
proc 0 pid=4711 t0=0.5 t1=11 mem_mib=100
proc 0 pid=self kind=both mem=na
lost 1 t=3
delay nvmlDeviceGet* us=20
fail nvmlDeviceGetUtilizationRates code=UNKNOWN
hang nvmlShutdown
garbage name 0
"""


def test_every_line_is_read() -> None:
    scenario = parse_scenario(TEXT)
    first, second = scenario.devices
    assert scenario.period == F(1, 10)
    assert (first.total_bytes, first.reserved_bytes) == (32768 * MIB, MIB // 2)
    assert first.over_time("util") == Series(((F(0), F(80)), (F(3, 10), F(0))))
    assert first.over_time("mem") == Series(((F(0), F(621, 2)), (F(2), F(2048))), linear=True)
    assert first.over_time("power").at(F(7)) == F(201, 4)
    assert first.over_time("memutil") == Series()
    assert first.processes == (
        Process(pid="4711", start=F(1, 2), end=F(11), mem_bytes=100 * MIB),
        Process(pid="self"),
    )
    assert (first.lost, second.lost) == (None, F(3))
    assert second.over_time("throttle").at(F(0)) == 4
    assert scenario.memory_v2


def test_unstated_keys_are_those_of_the_documentation() -> None:
    scenario = parse_scenario("device 0")
    [device] = scenario.devices
    assert scenario.period == F(167, 1000)
    assert (device.total_bytes, device.reserved_bytes) == (16384 * MIB, 0)
    assert device.over_time("power").at(F(1)) == 70


@pytest.mark.parametrize("glob", ["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemory*_v2"])
def test_a_hidden_second_memory_call_is_remembered(glob: str) -> None:
    assert not parse_scenario(f"device 0\nhide {glob}").memory_v2
    assert parse_scenario("device 0\nhide nvmlDeviceGetSamples").memory_v2


def test_unloading_loses_every_device_that_is_not_lost_before() -> None:
    scenario = parse_scenario("device 0\ndevice 1\nlost 1 t=2\nunload t=5")
    assert [device.lost for device in scenario.devices] == [5, 2]


@pytest.mark.parametrize("line", ["weather sunny", "mig 0 0 mem_mib=10", "device 1 memory_v2=over"])
def test_what_has_no_meaning_to_the_oracle_is_refused(line: str) -> None:
    with pytest.raises(ScenarioError, match="the oracle knows no"):
        parse_scenario(f"device 0\n{line}")
