"""The GPU workloads, on a CUDA driver that runs their kernels on the CPU."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.workloads import Workloads, last_line
from helpers.wrapper import Wrapper

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

DUTY = ("duty", "--device", "gpu", "--busy-ms", "30", "--idle-ms", "70", "--cycles", "4")
RAMP = ("vram_ramp", "--step-mib", "16", "--steps", "3", "--hold-ms", "40")
SHAPE = ("--samples", "40", "--features", "9", "--hidden", "17", "--outputs", "3")
TRAIN = ("train", "--device", "gpu", "--steps", "20", *SHAPE)
EACH = pytest.mark.parametrize("words", [DUTY, RAMP, TRAIN], ids=lambda words: words[0])
KERNELS = ("cuda_spinner.c", "gemm.c")


def test_duty_is_busy_for_the_time_that_it_says(workloads: Workloads) -> None:
    done = workloads.run(*DUTY, "--vram-mib", "10")
    assert (done.returncode, done.stderr) == (0, "")
    truth = last_line(done.stdout)
    assert (truth["device"], truth["name"]) == ("gpu", 'Fake "GPU" 0')
    assert truth["uuid"] == "GPU-6d6f636b-0000-4000-8000-000000000000"
    assert truth["kernel_s"] <= truth["busy_s"] <= 4 * 0.030 + 0.1
    assert truth["kernel_s"] >= 4 * (0.030 - 0.0005) * 0.7  # a busy host may wake it late
    assert truth["duty_pct"] == pytest.approx(100 * truth["kernel_s"] / truth["wall_s"], abs=0.02)
    assert truth["wall_s"] >= 0.4
    assert truth["spin_ratio"] >= 1
    assert truth["device_used_mib"] == 64 + truth["vram_mib"] == 74
    assert workloads.given_back()


@pytest.mark.parametrize(("busy", "idle", "duty"), [("0", "50", 0), ("50", "0", 100)])
def test_duty_may_be_nothing_and_all(workloads: Workloads, busy: str, idle: str, duty: int) -> None:
    options = ("--busy-ms", busy, "--idle-ms", idle, "--cycles", "4")
    truth = last_line(workloads.run("duty", "--device", "gpu", *options).stdout)
    assert truth["duty_pct"] == pytest.approx(duty, abs=5 if duty else 0)


def test_a_ramp_holds_step_after_step(workloads: Workloads) -> None:
    done = workloads.run(*RAMP)
    assert (done.returncode, done.stderr) == (0, "")
    truth = last_line(done.stdout)
    assert [step["vram_mib"] for step in truth["steps"]] == [0, 16, 32, 48]
    assert [step["device_used_mib"] for step in truth["steps"]] == [64, 80, 96, 112]
    assert all(step["end_ms"] - step["start_ms"] >= 39 for step in truth["steps"])
    assert workloads.given_back()


def test_training_on_the_device_is_training_on_the_cpu(workloads: Workloads) -> None:
    on_gpu = workloads.run(*TRAIN)
    on_cpu = workloads.run("train", "--device", "cpu", "--steps", "20", *SHAPE)
    assert (on_gpu.returncode, on_gpu.stderr) == (0, "")
    gpu, cpu = last_line(on_gpu.stdout), last_line(on_cpu.stdout)
    assert (gpu["device"], cpu["device"]) == ("gpu", "cpu")
    assert gpu["first_loss"] == pytest.approx(cpu["first_loss"], rel=1e-4)
    assert gpu["last_loss"] == pytest.approx(cpu["last_loss"], rel=1e-3)
    assert workloads.given_back()


def test_training_learns(workloads: Workloads) -> None:
    done = workloads.run("train", "--device", "cpu", "--steps", "100")
    assert done.returncode == 0
    losses = [float(line.split()[3]) for line in done.stdout.splitlines()[:-1]]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] / 4
    truth = last_line(done.stdout)
    assert 0 < truth["step_ms_median"] <= truth["step_ms_p95"]


@EACH
def test_no_device_has_an_exit_status_of_its_own(
    workloads: Workloads, words: tuple[str, ...]
) -> None:
    done = workloads.run(*words, FAKE_CUDA_DEVICES="0")
    assert (done.returncode, done.stdout) == (69, "")
    assert "cuInit returned 100: no CUDA-capable device is detected" in done.stderr


@EACH
def test_no_driver_has_the_same(workloads: Workloads, words: tuple[str, ...]) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("this host has a driver")
    done = workloads.run(*words, LD_LIBRARY_PATH="")
    assert (done.returncode, done.stdout) == (69, "")
    assert "libcuda.so.1" in done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "cuDeviceGet",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent",
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuEventCreate",
        "cuEventElapsedTime",
        "cuLaunchKernel",
        "cuMemAlloc_v2",
        "cuMemsetD8_v2",
        "cuMemGetInfo_v2",
    ],
)
def test_a_call_that_fails_is_named_and_nothing_is_left(workloads: Workloads, call: str) -> None:
    done = workloads.run(*DUTY, "--vram-mib", "1", FAKE_CUDA_FAIL=f"{call}=719")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"duty: {call} returned 719: the driver has no words for it" in done.stderr
    assert workloads.given_back()


def test_memory_that_is_not_there_is_an_error(workloads: Workloads) -> None:
    done = workloads.run(*RAMP, FAKE_CUDA_MEMORY_MIB="100")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vram_ramp: cuMemAlloc_v2 returned 2: out of memory\n"
    assert workloads.given_back()


def test_auto_says_why_there_is_no_gpu(workloads: Workloads) -> None:
    options = ("--busy-ms", "5", "--idle-ms", "5", "--cycles", "2", "--vram-mib", "1")
    done = workloads.run("duty", *options, FAKE_CUDA_DEVICES="0")
    truth = last_line(done.stdout)
    assert (truth["device"], truth["vram_mib"], truth["host_mib"]) == ("cpu", 0, 1)
    assert truth["why_cpu"] == "cuInit returned 100: no CUDA-capable device is detected"


@EACH
def test_help_is_on_stdout(workloads: Workloads, words: tuple[str, ...]) -> None:
    done = workloads.run(words[0], "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {words[0]} ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("duty",), "--busy-ms, --idle-ms and --cycles are needed"),
        (("duty", "--busy-ms", "x"), "'x' is not a whole number"),
        (("duty", "--device", "tpu"), "'tpu' is none of gpu, cpu, auto"),
        (("vram_ramp",), "--step-mib, --steps and --hold-ms are needed"),
        ((*RAMP, "--device", "cpu"), "there is only gpu"),
        (("train", "--steps", "0"), "from 10 to"),
        (("train", "extra"), "every argument has a name"),
    ],
)
def test_wrong_calls_are_explained(
    workloads: Workloads, words: tuple[str, ...], message: str
) -> None:
    done = workloads.run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize("source", KERNELS)
@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100"])
def test_the_vendors_assembler_takes_the_kernels(source: str, target: str, tmp_path: Path) -> None:
    assembler = shutil.which("ptxas")
    if assembler is None:
        pytest.skip("ptxas is not installed")
    file = BENCHMARKS / "workloads" / source
    text = file.read_text().partition("_ptx[] =")[2].partition("}\\n")[0] + "}\\n"
    lines = [line.strip().strip('"').removesuffix("\\n") for line in text.splitlines()]
    (tmp_path / "kernel.ptx").write_text("\n".join(lines) + "\n")
    command = [assembler, "-arch", target, "kernel.ptx", "-o", "kernel.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_train_py_trains_without_a_framework(workloads: Workloads) -> None:
    script = str(BENCHMARKS / "workloads/train.py")
    program = str(workloads.build / "train")
    words = ["--framework", "none", "--device", "cpu", "--steps", "20", "--train", program]
    command = [sys.executable, script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    truth = last_line(done.stdout)
    assert (truth["steps"], truth["framework"]) == (20, "none")
    assert truth["last_loss"] < truth["first_loss"]


def test_train_py_says_what_to_build(tmp_path: Path) -> None:
    words = ["--framework", "none", "--train", str(tmp_path / "none")]
    command = [sys.executable, str(BENCHMARKS / "workloads/train.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make workloads" in done.stderr


def run_pair(
    workloads: Workloads, wrapper: Wrapper, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    programs = ["--gpu-probe", wrapper.entry[0], "--duty", str(workloads.build / "duty")]
    script = str(BENCHMARKS / "workloads/pair.py")
    return subprocess.run(
        [sys.executable, script, *programs, "--seconds", "2", "--mib", "24", "8", *words],
        env=workloads.environment(**wrapper.environment, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pair_tells_what_each_must_show(
    workloads: Workloads, gpu_wrapper: Wrapper, scenario: Callable[[str], None]
) -> None:
    scenario("device 0\nseries 0 mem 0 300\n")
    done = run_pair(workloads, gpu_wrapper, "--traces")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = json.loads(done.stdout)["tasks"]
    assert (first["truth"]["vram_mib"], second["truth"]["vram_mib"]) == (24, 8)
    for task, foreign_mib in ((first, 8), (second, 24)):
        shown = task["expected"]
        assert shown["shared"] is True
        assert shown["foreign_mib_at_least"] == foreign_mib
        assert shown["own_pct"] <= shown["device_pct"] <= 50
        assert task["gpu"]["peak_mem_used"] == 300


def test_a_pair_without_a_device_has_the_loads_exit_status(
    workloads: Workloads, gpu_wrapper: Wrapper, scenario: Callable[[str], None]
) -> None:
    scenario("device 0\n")
    done = run_pair(workloads, gpu_wrapper, FAKE_CUDA_DEVICES="0")
    assert (done.returncode, done.stdout) == (69, "")
    assert "no CUDA-capable device" in done.stderr


def test_a_load_runs_under_gpu_bench(
    workloads: Workloads, gpu_wrapper: Wrapper, scenario: Callable[[str], None], tmp_path: Path
) -> None:
    scenario("device 0\nseries 0 mem 0 112\n")
    command = [str(workloads.build / RAMP[0]), *RAMP[1:]]
    bench = Path(sys.executable).with_name("gpu-bench")
    words = ["run", "--file", str(tmp_path / "b.jsonl"), "--repeats", "2", "--name", "ramp"]
    done = subprocess.run(
        [str(bench), *words, "--work-dir", str(tmp_path / "work"), "--", *command],
        env=workloads.environment(**gpu_wrapper.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    repeats = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [repeat["status"] for repeat in repeats] == ["COMPLETED"] * 2
    assert [repeat["gpu_peak_mem_used"] for repeat in repeats] == [112, 112]
