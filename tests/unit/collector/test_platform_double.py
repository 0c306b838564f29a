"""The double is as strict as the server that it stands for; its rules by their numbers."""

from typing import Any

import pytest

from helpers.builders import gpu_block
from helpers.platform_server import TOKEN, Call, PlatformDouble

WORKFLOW = {
    "commandLine": "c",
    "projectName": "p",
    "runName": "r",
    "sessionId": "s",
    "submit": "2026-01-01T00:00:00Z",
    "userName": "u",
    "workDir": "/w",
}


@pytest.fixture
def double() -> PlatformDouble:
    server = PlatformDouble()
    assert answer(server, "create", {"runName": "r"}, None) == 200
    return server


def answer(
    server: PlatformDouble,
    call: str,
    body: dict[str, Any],
    workflow_id: str | None = "run1",
    token: str = TOKEN,
) -> int:
    made = Call(
        call=call,
        method="PUT" if workflow_id else "POST",
        path="",
        query={},
        headers={"authorization": f"Bearer {token}"},
        body=body,
        workflow_id=workflow_id,
    )
    return server.receive(made)[1]


def progress(server: PlatformDouble, *tasks: dict[str, Any]) -> int:
    return answer(server, "progress", {"tasks": list(tasks)})


def task(status: str = "COMPLETED", **fields: object) -> dict[str, Any]:
    return {"taskId": 1, "status": status, **fields}


def test_rule_1_more_than_100_tasks_are_too_many(double: PlatformDouble) -> None:
    assert progress(double, *[task()] * 100) == 200
    assert progress(double, *[task()] * 101) == 400


def test_rule_2_an_unknown_run_is_refused(double: PlatformDouble) -> None:
    assert answer(double, "progress", {"tasks": []}, "other") == 400
    assert answer(double, "create", {"workflowId": "other"}, None) == 400


def test_rule_3_the_first_end_counts_and_nothing_goes_back(double: PlatformDouble) -> None:
    progress(double, task("RUNNING"))
    progress(double, task("SUBMITTED"))
    assert double.runs["run1"].tasks[1]["status"] == "RUNNING"
    progress(double, task())
    assert progress(double, task("FAILED", gpuMetrics=gpu_block())) == 200
    assert double.runs["run1"].tasks[1] == task()
    assert double.runs["run1"].dropped == 2


def test_rule_5_the_figures_of_cached_tasks_are_ignored(double: PlatformDouble) -> None:
    progress(double, task("CACHED", gpuMetrics=gpu_block()))
    assert double.runs["run1"].tasks[1] == task("CACHED")


def test_another_token_is_refused(double: PlatformDouble) -> None:
    assert answer(double, "progress", {"tasks": []}, token="x") == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "DONE"},
        {"taskId": "1"},
        {"taskId": 2**63},
        {"exit": 2**31},
        {"exit": None},
        {"tag": None},
        {"start": 1_700_000_000_000},
        {"start": "2014-10-06T12:03Z"},
        {"pcpu": "9"},
        {"rss": 1.5},
        {"rss": True},
        {"module": "m"},
        {"hash": "x" * 35},
        {"script": "x" * 10_241},
        {"gpuMetrics": gpu_block(avg_mem=6159.4)},
        {"gpuMetrics": gpu_block(pct=None)},
        {"gpuMetrics": gpu_block(pct="75")},
        {"gpuMetrics": gpu_block(name=1)},
    ],
)
def test_ill_typed_tasks_are_refused_with_all_others(
    double: PlatformDouble, wrong: dict[str, Any]
) -> None:
    assert progress(double, {**task(), "taskId": 2}, {**task(), **wrong}) == 400
    assert double.runs["run1"].tasks == {}


def test_unknown_keys_are_taken(double: PlatformDouble) -> None:
    assert progress(double, task(hostname="h", gpuMetrics=gpu_block(new={"a": None}))) == 200


@pytest.mark.parametrize("missing", list(WORKFLOW))
def test_what_begin_and_complete_require(double: PlatformDouble, missing: str) -> None:
    partial = {key: value for key, value in WORKFLOW.items() if key != missing}
    for call in ("begin", "complete"):
        assert answer(double, call, {"workflow": partial}) == 400
        assert answer(double, call, {"workflow": WORKFLOW}) == 200
        assert answer(double, call, {"workflow": {**WORKFLOW, "id": "x" * 17}}) == 400


def test_metrics_need_a_process_and_numbers(double: PlatformDouble) -> None:
    for metrics, status in (
        ([{"process": "p", "gpuUsage": {"mean": 1.5}}], 200),
        ([{"gpuUsage": {"mean": 1.5}}], 400),
        ([{"process": "p", "cpu": None}], 400),
        ([{"process": "p", "cpu": {"q1": "1"}}], 400),
    ):
        assert answer(double, "complete", {"workflow": WORKFLOW, "metrics": metrics}) == status
