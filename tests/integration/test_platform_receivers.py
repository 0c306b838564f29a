"""Against programs of others: nextflow-turret, behind Prism with our description of the API."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from helpers.builders import gpu_block, probe_block, sample_trace, task_directory, trace
from helpers.platform_server import TOKEN
from helpers.receivers import free_port, serving

RECEIVERS = Path(__file__).resolve().parents[2] / "build" / "receivers"
TURRET = RECEIVERS / "venv" / "bin" / "turret"
PRISM = RECEIVERS / "node_modules" / ".bin" / "prism"
API = Path(__file__).resolve().parents[1] / "data" / "platform" / "openapi.yaml"


@pytest.fixture(scope="module")
def turret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not (RECEIVERS / "installed").exists():
        pytest.skip("the receivers are not installed: run make receivers")
    directory, port = tmp_path_factory.mktemp("turret"), free_port()
    command = [str(TURRET), "--host", "127.0.0.1", "--port", str(port), "--db", "turret.db"]
    with serving(command, port, log=directory / "turret.log") as address:
        yield address


@pytest.fixture(scope="module")
def prism(turret: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory, port = tmp_path_factory.mktemp("prism"), free_port()
    command = [str(PRISM), "proxy", "--errors", "-h", "127.0.0.1", "-p", str(port)]
    with serving([*command, str(API), turret], port, log=directory / "prism.log") as address:
        yield address


@pytest.fixture
def user(prism: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOWER_ACCESS_TOKEN", TOKEN)
    monkeypatch.setenv("TOWER_API_ENDPOINT", prism)
    monkeypatch.setenv("TOWER_WORKSPACE_ID", "7")


def get(url: str) -> Any:  # noqa: ANN401 - any JSON
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.usefixtures("user")
def test_a_whole_run_passes_the_proxy_and_arrives(
    turret: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = {**sample_trace()["gpu"], "new_key": [None, {"a": 1}]}
    for number in range(1, 131):
        identity = {
            "task_id": str(number),
            "name": f"p ({number})",
            "process": "flow:p",
            "tag": "a tag",
            "cpus": 4,
            "memory": 8_000_000_000,
            "accelerator": 1,
            "accelerator_type": "v100",
            "submit": 1_700_000_000_000,
        }
        task_directory(
            Path("work") / f"{number:02x}" / f"{number:030x}",
            task=identity,
            trace=trace(gpu=gpu) if number % 2 else trace(gpu=...),
            exit_code=137 if number == 130 else 0,
        )
    assert main(["collect", "work", "--platform", "--name", "whole"]) == 0
    assert "130 tasks sent to whole-gpu" in capsys.readouterr().err

    run = get(f"{turret}/api/runs/dispatcher_whole-gpu")
    assert run["run_name"] == "whole-gpu"
    assert run["complete"]
    assert (run["task_counts"]["succeeded"], run["task_counts"]["failed"]) == (129, 1)
    (failed,) = run["failures"]
    assert (failed["name"], failed["exit"]) == ("p (130)", 137)


@pytest.mark.usefixtures("user")
def test_damaged_figures_pass_the_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    bad = gpu_block(mem="x", pct=None, avg_mem=6159.4, active_time=2**70, peak=True, driver=1)
    task_directory(Path("work/a"), trace=trace(gpu=bad), exit_code=0)
    task_directory(Path("work/b"), trace=trace(probe=probe_block(start_ms=-5)), exit_code=3)
    assert main(["collect", "work", "--platform", "--name", "damaged"]) == 0
    assert "2 tasks sent" in capsys.readouterr().err


@pytest.mark.usefixtures("turret")
def test_the_proxy_does_refuse_what_is_wrong(prism: str) -> None:
    """The two tests above could not fail if it took anything."""
    for task in ({"taskId": 1, "status": "COMPLETED", "gpuMetrics": {"avg_mem": 6159.4}}, {}):
        request = urllib.request.Request(
            f"{prism}/trace/x/progress",
            data=json.dumps({"tasks": [task]}).encode(),
            method="PUT",
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError, match="422") as raised:
            urllib.request.urlopen(request, timeout=30)
        raised.value.close()
