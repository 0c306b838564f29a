"""`make accuracy`, its two shortest scenarios: real executables on one time line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks/accuracy.py"


@pytest.fixture(scope="session")
def quick(
    gpu_probe: Path, mock_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows, with pynvml, which these tests' environment has, as the only peer."""
    file = tmp_path_factory.mktemp("accuracy") / "accuracy.json"
    options: list[str | Path] = [
        "--quick",
        "--json",
        file,
        "--gpu-probe",
        gpu_probe,
        "--mock",
        mock_library,
    ]
    command = [sys.executable, SCRIPT, "--peers", sys.executable, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.read_text())
    return {(row["scenario"], row["metric"]): row for row in rows}


def test_the_truth_of_a_constant_load_is_what_the_scenario_says(
    quick: dict[tuple[str, str], dict[str, Any]],
) -> None:
    truth = {metric: row["truth"] for (name, metric), row in quick.items() if name == "constant"}
    assert (truth["pct"], truth["peak"], truth["avg_mem"], truth["peak_mem_used"]) == (
        60,
        60,
        4000,
        4000,
    )
    assert truth["pct_mem"] == 100 * 4000 / 15360
    assert 6000 <= truth["active_time"] <= 7000


def test_a_memory_peak_is_found_by_the_poll_that_it_lasts_for(
    quick: dict[tuple[str, str], dict[str, Any]],
) -> None:
    row = quick["memory-peak", "peak_mem_used"]
    assert (row["truth"], row["ours"], row["missed"]) == (12000, 12000, False)


def test_another_reader_answers_on_the_same_time_line_and_one_that_is_not_there_is_null(
    quick: dict[tuple[str, str], dict[str, Any]],
) -> None:
    peers = quick["constant", "pct"]["peers"]
    assert peers["pynvml 1 s"] == 60
    assert peers["zeus"] is None


def test_no_scenario_of_an_unknown_name_is_run() -> None:
    command = [sys.executable, str(SCRIPT), "--scenario", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no scenario nothing; there are constant, " in done.stderr
