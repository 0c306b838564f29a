"""`gpu-probe --check`: what can be measured in this place, and why not."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.checks import check
from helpers.watched import watch
from helpers.wrapper import Wrapper

Scenario = Callable[[str], None]
DEVICE = "device 0 name=Tesla uuid=GPU-a\nseries 0 util 0 50\n"


def test_every_key_of_this_host_agrees_with_a_trace(any_entry: Wrapper) -> None:
    any_entry.run("sleep", "0.1")
    trace = any_entry.trace()
    rows = check(any_entry)
    unavailable = set(trace["probe"]["unavailable"])
    for key in trace["proc"]:
        if key != "arch":
            assert rows[f"proc.{key}"]["ok"] == (f"proc.{key}" not in unavailable)
    for key in trace.get("cgroup", {}):
        if key != "version":
            assert rows[f"cgroup.{key}"]["ok"] == (f"cgroup.{key}" not in unavailable)
    assert rows["trace.file"]["detail"] == str(any_entry.directory / ".fusion" / "trace.json")


def test_it_leaves_nothing_behind(wrapper: Wrapper) -> None:
    check(wrapper)
    assert list(wrapper.directory.iterdir()) == []


def test_it_never_has_the_place_of_the_trace(wrapper: Wrapper) -> None:
    """Another wrapper may start to use that directory before the check would remove it."""
    with watch(wrapper.directory) as watched:
        row = check(wrapper)["trace.file"]
        names = watched.names()
    assert names
    assert ".fusion" not in names
    assert row["detail"] == str(wrapper.directory / ".fusion" / "trace.json")


def test_people_read_one_line_for_each_item(wrapper: Wrapper) -> None:
    command = [*wrapper.entry, "--workdir", str(wrapper.directory), "--check"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {line[:3] for line in lines} <= {"ok ", "-- ", "!! "}
    assert len(lines) <= len(check(wrapper))
    assert f"ok {'proc.pct_cpu':28} rusage" in lines
    assert f"ok {'proc.realtime':28} clock_monotonic" in lines


def test_neighbours_that_are_missing_for_one_reason_share_a_line(wrapper: Wrapper) -> None:
    command = [*wrapper.entry, "--workdir", str(wrapper.directory), "--check", "--cgroup", "off"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    (line,) = (line for line in lines if "no group is read" in line)
    name = "cgroup.memory_current"
    assert line == f"-- {name:28} to io_psi_full: no group is read: see cgroup.group"


def test_copy_and_timeline_are_looked_at(wrapper: Wrapper, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    rows = check(wrapper, options=["--copy-to", str(copies), "--timeline"])
    assert rows["trace.copy"]["detail"] == str(copies)
    assert rows["trace.timeline"]["detail"].endswith("/.fusion/timeline.json")
    assert not copies.exists()
    (tmp_path / "file").write_text("")
    row = check(wrapper, GPU_PROBE_COPY_TO=str(tmp_path / "file"))["trace.copy"]
    assert "--copy-to" in row["next_step"]
    assert not {"trace.copy", "trace.timeline", "trace.instead"} & set(check(wrapper))


def test_it_says_where_the_trace_would_go_instead(gpu_probe: Path, tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    wrapper = Wrapper(entry=[str(gpu_probe)], directory=tmp_path / "missing")
    row = check(wrapper, TMPDIR=str(spare))["trace.instead"]
    assert (row["source"], row["detail"]) == ("temporary", f"{spare}/gpu-probe-{os.geteuid()}")
    assert list(spare.iterdir()) == []
    row = check(wrapper, options=["--copy-to", str(spare / "c")])["trace.instead"]
    assert (row["source"], row["detail"]) == ("copy", str(spare / "c"))


@pytest.mark.parametrize("option", ["--check", "--help", "--version"])
def test_what_nobody_could_read_is_a_failure(wrapper: Wrapper, option: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*wrapper.entry, option], stdout=full, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize("options", [["--check", "true"], ["--json", "true"], ["--check=1"]])
def test_wrong_calls_are_125(wrapper: Wrapper, options: list[str]) -> None:
    done = subprocess.run([*wrapper.entry, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert done.stdout == ""


def test_no_place_for_a_trace(gpu_probe: Path, tmp_path: Path) -> None:
    wrapper = Wrapper(entry=[str(gpu_probe)], directory=tmp_path / "missing")
    row = check(wrapper)["trace.file"]
    assert "No such file or directory" in row["reason"]
    assert "--workdir" in row["next_step"]


def test_no_gpu(wrapper: Wrapper) -> None:
    if any(Path("/dev", node).exists() for node in ("nvidiactl", "nvidia-caps", "dxg")):
        pytest.skip("this host has a GPU")
    rows = check(wrapper)
    assert [key for key in rows if key.startswith("gpu.")] == ["gpu.device_node"]
    assert "--gpus all" in rows["gpu.device_node"]["next_step"]


def test_a_gpu_with_everything(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(DEVICE + "device 1 name=B ecc=1 gpm=1\n")
    rows = check(gpu_wrapper)
    assert rows["gpu.driver"]["detail"] == "driver 580.126.09, mock driver: not a real GPU"
    assert rows["gpu.device@0"]["detail"] == "Tesla, GPU-a"
    assert {key: row["source"] for key, row in rows.items() if key.endswith("@1")} == {
        "gpu.device@1": "nvml",
        "gpu.utilization@1": "nvml_samples",
        "gpu.mem_bw_util@1": "nvml_samples",
        "gpu.sm_activity_pct@1": "nvml_gpm",
        "gpu.memory@1": "nvml_memory_v2",
        "gpu.own_peak_mem_used@1": "nvml_processes",
        "gpu.energy_mj@1": "nvml_total_energy",
        "gpu.throttle_reasons@1": "nvml_clocks_event_reasons",
        "gpu.peak_temp_c@1": "nvml_temperature",
        "gpu.ecc_uncorrected@1": "nvml_total_ecc_errors",
        "gpu.xids@1": "nvml_events",
    }
    assert rows["gpu.scope"]["source"] == "all_visible"


def test_a_gpu_with_less(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    absent = ["GetSamples", "GetUtilizationRates", "GetTotalEnergyConsumption", "GetMemoryInfo_v2"]
    scenario(DEVICE + "".join(f"fail nvmlDevice{a} code=NOT_SUPPORTED\n" for a in absent))
    rows = check(gpu_wrapper)
    assert "MIG" in rows["gpu.utilization@0"]["reason"]
    assert not rows["gpu.mem_bw_util@0"]["ok"]
    assert "energy counter" in rows["gpu.energy_mj@0"]["reason"]
    assert rows["gpu.memory@0"]["source"] == "nvml_memory_v1"
    assert rows["gpu.throttle_reasons@0"]["ok"]
    assert "ECC" in rows["gpu.ecc_uncorrected@0"]["reason"]


@pytest.mark.parametrize(("gpm", "source"), [(0, None), (1, "nvml_gpm")])
def test_an_instance(
    gpu_wrapper: Wrapper, scenario: Scenario, gpm: int, source: str | None
) -> None:
    scenario(f"device 0 gpm={gpm}\nmig 0 2 name=slice uuid=MIG-a\n")
    rows = check(gpu_wrapper)
    assert rows["gpu.device@0"]["detail"] == "slice, MIG-a"
    assert rows["gpu.utilization@0"]["source"] == rows["gpu.sm_activity_pct@0"]["source"] == source
    assert rows["gpu.memory@0"]["source"] == "nvml_memory_v2"
    assert not rows["gpu.energy_mj@0"]["ok"]
    if source is None:
        assert "MIG instances" in rows["gpu.utilization@0"]["reason"]
        assert "older than Hopper" in rows["gpu.sm_activity_pct@0"]["reason"]


def test_polled_rates_are_named(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(DEVICE + "fail nvmlDeviceGetSamples code=NOT_SUPPORTED\n")
    row = check(gpu_wrapper)["gpu.utilization@0"]
    assert row["source"] == "nvml_utilization_rates"
    assert row["detail"].startswith("polled")


@pytest.mark.parametrize(
    ("line", "key", "reason"),
    [
        ("fail nvmlInit* code=DRIVER_NOT_LOADED", "driver", "NVML could not be initialised"),
        ("fail nvmlDeviceGetCount* code=UNKNOWN", "devices", "does not tell its devices"),
    ],
)
def test_a_broken_driver(
    gpu_wrapper: Wrapper, scenario: Scenario, line: str, key: str, reason: str
) -> None:
    scenario(f"{DEVICE}{line}\n")
    row = check(gpu_wrapper)[f"gpu.{key}"]
    assert reason in row["reason"]
    assert row["next_step"] is not None


def test_hidden_devices(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(DEVICE)
    row = check(gpu_wrapper, CUDA_VISIBLE_DEVICES="")["gpu.devices"]
    assert row["reason"] == "CUDA_VISIBLE_DEVICES hides every device"


@pytest.mark.parametrize(
    ("gpus", "source"), [("all", "option"), ("1", "option"), ("auto", "all_visible")]
)
def test_the_scope_that_was_asked_for(
    gpu_wrapper: Wrapper, scenario: Scenario, gpus: str, source: str
) -> None:
    scenario(DEVICE + "device 1 name=B\n")
    rows = check(gpu_wrapper, options=["--gpus", gpus])
    assert rows["gpu.scope"]["source"] == source
    assert ("gpu.device@0" in rows) == (gpus != "1")


def test_no_gpus_on_request(gpu_wrapper: Wrapper) -> None:
    rows = check(gpu_wrapper, options=["--gpus", "none"])
    assert [key for key in rows if key.startswith("gpu.")] == ["gpu.scope"]
    assert rows["gpu.scope"]["reason"] == "GPUs are left out: --gpus none"


def test_unified_memory_has_a_reason(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(DEVICE + "fail nvmlDeviceGetMemoryInfo* code=NOT_SUPPORTED\n")
    assert "unified memory" in check(gpu_wrapper)["gpu.memory@0"]["reason"]


def test_a_library_that_is_not_there(gpu_wrapper: Wrapper) -> None:
    rows = check(gpu_wrapper, options=["--nvml-library", "/no/such/library.so"])
    assert "/no/such/library.so" in rows["gpu.driver"]["reason"]
    assert rows["gpu.helper"]["ok"]


def test_a_driver_that_hangs(gpu_wrapper: Wrapper, scenario: Scenario) -> None:
    scenario(DEVICE + "hang nvmlInit* from=0\n")
    assert check(gpu_wrapper)["gpu.driver"]["reason"] == "no answer within 5 s"


@pytest.fixture
def lonely(gpu_probe: Path, gpu_wrapper: Wrapper, tmp_path: Path) -> Wrapper:
    """A copy of the wrapper, in a folder of its own."""
    (tmp_path / "bin").mkdir()
    copy = shutil.copy2(gpu_probe, tmp_path / "bin" / "gpu-probe")
    return Wrapper(
        entry=[str(copy)], directory=gpu_wrapper.directory, environment=gpu_wrapper.environment
    )


def test_no_helper_beside_the_wrapper(lonely: Wrapper) -> None:
    row = check(lonely)["gpu.helper"]
    assert row["reason"] == "there is no gpu-probe-nvml beside gpu-probe"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "#!/no/such/loader\n",
            "could not be started: HELPER: its loader (glibc) is missing in this image",
        ),
        ("#!/bin/sh\nexit 1\n", "gpu-probe-nvml ended before its first reading"),
    ],
)
def test_a_helper_that_cannot_run_here(lonely: Wrapper, text: str, reason: str) -> None:
    helper = Path(lonely.entry[0]).with_name("gpu-probe-nvml")
    helper.write_text(text)
    helper.chmod(0o755)
    row = check(lonely)["gpu.helper"]
    assert row["reason"].endswith(reason.replace("HELPER", str(helper)))
    assert "glibc" in row["next_step"]


@pytest.mark.parametrize(
    ("rules", "source"),
    [
        ("fail nvmlDeviceGetSamples code=UNKNOWN", "nvml_utilization_rates"),
        ("fail nvmlDeviceGetSamples code=NOT_FOUND", "nvml_utilization_rates"),
        ("fail nvmlDeviceGetSamples code=NO_PERMISSION", "nvml_utilization_rates"),
        ("fail nvml*Get*Samples code=TIMEOUT\nfail nvmlGpmMetricsGet code=UNKNOWN", None),
    ],
)
def test_a_source_that_fails_is_none(
    gpu_wrapper: Wrapper, scenario: Scenario, rules: str, source: str | None
) -> None:
    none = "fail nvmlDeviceGetUtilizationRates code=NO_PERMISSION\n" if source is None else ""
    scenario(f"device 0 gpm={int(source is None)}\n{rules}\n{none}")
    row = check(gpu_wrapper)["gpu.utilization@0"]
    assert row["source"] == source
    if source is None:
        assert "permit" in row["reason"]
