"""gpu_truth.sh on the mock driver and the fake CUDA driver, before it meets a device."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.workloads import Workloads

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks/gpu_truth.sh"
# What an idle device with a context of 64 MiB and 128 MiB of data shows.
IDLE = "device 0 mem_mib=4096\nseries 0 mem 0 192\n"
# Steps of 128 MiB, two seconds each; time 0 is the start of the task.
RAMP = "device 0 mem_mib=4096\nseries 0 mem 0 64  2 192  4 320  6 448  8 576\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The script, what it runs on, and where its results go."""

    environment: dict[str, str]
    directory: Path

    def run(
        self, scenario: str, *words: str, seconds: int = 1, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        file = self.directory / "scenario.txt"
        file.write_text(scenario)
        options = ["--out", str(self.directory / "out"), "--seconds", str(seconds)]
        return subprocess.run(
            ["bash", str(SCRIPT), *options, *words],
            env=self.environment | {"NVMLMOCK_SCENARIO": str(file)} | variables,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def rows(self) -> list[dict[str, Any]]:
        lines = (self.directory / "out/results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def check(self, stage: str, figure: str) -> dict[str, Any]:
        [row] = [r for r in self.rows() if (r["stage"], r.get("figure")) == (stage, figure)]
        return row


@pytest.fixture
def truth(workloads: Workloads, mock_library: Path, gpu_probe: Path, tmp_path: Path) -> Truth:
    build = tmp_path / "build"
    build.mkdir()
    for program in ("duty", "vram_ramp", "train"):
        (build / program).symlink_to(workloads.build / program)
    for name in ("gpu-probe", "gpu-probe-nvml"):
        (build / name).symlink_to(gpu_probe.with_name(name))
    stubs = {
        "GPU_TRUTH_NVML_LIBRARY": str(mock_library),
        "GPU_TRUTH_CUDA_LIBRARY": str(workloads.library),
        "BUILD": str(build),
        "PYTHON": sys.executable,
    }
    return Truth(environment=os.environ | stubs, directory=tmp_path)


def test_figures_that_are_true_are_status_0(truth: Truth) -> None:
    done = truth.run(IDLE, "duty-0", seconds=2)
    assert done.returncode == 0, done.stdout
    pct = truth.check("duty-0", "pct")
    assert (pct["truth"], pct["ours"], pct["ok"]) == (0, 0, True)
    memory = truth.check("duty-0", "peak_mem_used")
    assert (memory["truth"], memory["ours"]) == (192, 192)
    assert truth.check("duty-0", "coverage")["ours"] >= 0.9
    table = (truth.directory / "out/table.txt").read_text()
    assert table == done.stdout
    assert table.endswith("\n0 missed of 4\n")


def test_each_step_of_the_ramp_is_in_the_timeline(truth: Truth) -> None:
    done = truth.run(RAMP, "ramp", seconds=5)
    assert done.returncode == 0, done.stdout
    steps = [row for row in truth.rows() if row["figure"].startswith("timeline")]
    assert [row["truth"] for row in steps] == [0, 128, 256, 384, 512]
    assert [row["ours"] for row in steps] == [0, 128, 256, 384, 512]
    assert truth.check("ramp", "peak_mem_used, above step 0")["ours"] == 512
    absolute = truth.check("ramp", "peak_mem_used")
    assert (absolute["truth"], absolute["ours"]) == (576, 576)


def test_a_step_that_is_not_in_the_timeline_is_a_miss(truth: Truth) -> None:
    done = truth.run("device 0 mem_mib=4096\nseries 0 mem 0 64  4 320\n", "ramp", seconds=1)
    assert done.returncode == 1
    steps = [row for row in truth.rows() if row["figure"].startswith("timeline")]
    assert [row["ok"] for row in steps] == [True, False, True, False, False]


def test_a_figure_that_is_wrong_is_status_1_and_the_rest_goes_on(truth: Truth) -> None:
    scenario = "device 0 mem_mib=4096\nseries 0 util 0 77\nseries 0 mem 0 192\n"
    done = truth.run(scenario, "duty-30", "pair", seconds=2)
    assert done.returncode == 1
    pct = truth.check("duty-30", "pct")
    assert 75 <= pct["ours"] <= 77
    assert 5 < pct["truth"] <= 31
    assert not pct["ok"]
    assert truth.check("duty-30", "peak_mem_used")["ok"]
    for stage in ("pair-a", "pair-b"):
        both = truth.check(stage, "pct")
        assert 5 < both["truth"] <= 51
        assert 75 <= both["ours"] <= 77  # the mock has no load before its first caller
    assert " MISSED" in done.stdout


def test_facts_are_what_the_driver_does(truth: Truth) -> None:
    driver = "driver period_ms=100 ring=50 clock=boot order=descending\n"
    scenario = driver + "device 0 reserved_mib=300\n"
    done = truth.run(scenario, "facts", seconds=1)
    assert done.returncode == 0, done.stdout
    facts = {row["fact"]: row["value"] for row in truth.rows() if "fact" in row}
    assert facts["util_ring"] == {"capacity": 50, "entries": 50}
    assert facts["util_order"] == "descending"
    assert facts["util_period_ms"] == {"min": 100, "median": 100, "max": 100}
    assert 0 <= facts["util_newest_age_s"]["boottime"] < 1
    assert facts["util_newest_age_s"]["realtime"] > 1e6
    assert facts["util_nothing_new"] == ["NVMLError_NotFound", 0]
    v1, v2 = facts["memory_v1_mib"], facts["memory_v2_mib"]
    assert (v1["used"] - v2["used"], v2["reserved"]) == (300, 300)
    assert facts["call_us_samples"]["median"] > 0
    assert {"gpm", "mig_mode", "processes", "energy_step_ms"} <= facts.keys()
    if os.geteuid() == 0:  # nobody may not read the test's scenario, and is told so by the mock
        assert facts["gpm_as_nobody"][0].startswith("pynvml.NVMLError")
    lost = truth.check("facts", "samples lost by drains every 5 s")
    assert (lost["ours"], lost["ok"]) == (0, True)
    assert facts["samples_seen_by_frequent_drains"] >= 8


def test_a_ring_that_is_too_short_loses_samples(truth: Truth) -> None:
    done = truth.run("driver period_ms=100 ring=8\ndevice 0\n", "facts", seconds=2)
    assert done.returncode == 1
    assert truth.check("facts", "samples lost by drains every 5 s")["ours"] > 0


def test_steps_of_training_are_compared(truth: Truth) -> None:
    truth.run("device 0\n", "train", seconds=1)  # how much slower is no matter here
    times = truth.check("train", "step time, bare and wrapped")
    assert times["truth"] > 0
    assert times["ours"] > 0
    slower = truth.check("train", "step slower by")
    assert slower["ours"] == pytest.approx(
        max(0, 100 * (times["ours"] / times["truth"] - 1)), abs=1e-6
    )


def test_a_stage_that_fails_does_not_end_the_others(truth: Truth) -> None:
    done = truth.run(IDLE, "ramp", "duty-0", FAKE_CUDA_MEMORY_MIB="300", seconds=1)
    assert done.returncode == 1
    [failure] = [row for row in truth.rows() if "failed" in row]
    assert failure["stage"] == "ramp"
    assert "cuMemAlloc_v2 returned 2: out of memory" in failure["failed"]
    assert truth.check("duty-0", "pct")["ok"]


def test_what_does_not_end_is_ended_and_what_is_late_is_not_started(truth: Truth) -> None:
    done = truth.run(IDLE, "--limit", "2", "duty-60", "duty-0", seconds=30)
    assert done.returncode == 1
    assert [(row["stage"], row["failed"]) for row in truth.rows()] == [
        ("duty-60", "took longer than it may"),
        ("duty-0", "not started: the time was up"),
    ]


def test_no_device_fails_every_stage(truth: Truth) -> None:
    done = truth.run("driver\n", FAKE_CUDA_DEVICES="0")
    assert done.returncode == 1
    failed = [row["stage"] for row in truth.rows() if "failed" in row]
    stages = "facts duty-0 duty-10 duty-30 duty-60 duty-100 ramp pair train"
    assert failed == stages.split()
    assert "exit status 69" in done.stdout


def test_nvidia_smi_is_polled_beside_it(truth: Truth, tmp_path: Path) -> None:
    shim = tmp_path / "bin/nvidia-smi"
    shim.parent.mkdir()
    shim.write_text(
        "#!/bin/sh\n"
        '[ "$#" -gt 0 ] || exit 0\n'
        "printf '0, 30, 320\\n0, 50, 330\\n1, 9, 9\\n0, [N/A], 3'\n"
        "exec tail -f /dev/null\n"
    )
    shim.chmod(0o755)
    path = f"{shim.parent}:{os.environ['PATH']}"
    truth.run(IDLE, "duty-0", PATH=path)
    assert truth.check("duty-0", "pct")["smi"] == 40
    assert truth.check("duty-0", "peak_mem_used")["smi"] == 330


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "no stage 'nonsense'"),
        (["--seconds", "0"], "not a whole number"),
        (["--out"], "needs a value"),
    ],
)
def test_wrong_calls_are_explained(words: list[str], message: str) -> None:
    done = subprocess.run(
        ["bash", str(SCRIPT), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_help_is_the_head_of_the_script() -> None:
    done = subprocess.run(
        ["bash", str(SCRIPT), "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu_truth.sh [--out DIR] [--seconds N] [--limit N] [STAGE...]" in done.stdout
    assert done.stdout.rstrip().endswith("2 called wrongly, 3 no device.")


def test_without_a_device_it_is_one_line(tmp_path: Path) -> None:
    nodes = ("nvidiactl", "nvidia-caps", "dxg", "nvhost-ctrl-gpu")
    if any(Path("/dev", node).exists() for node in nodes):
        pytest.skip("this host has a GPU")
    done = subprocess.run(
        ["bash", str(SCRIPT), "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "no NVIDIA device here" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
