"""Where tasks come from: Nextflow's work trees with and without trace.txt, and batch jobs."""

import json
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from collector.collect import CollectOptions, collect_directories
from collector.errors import TraceMalformed
from collector.record import TraceRecord
from collector.sinks.tsv_columns import TRACE_COLUMNS
from collector.trace import read_nextflow_trace
from helpers.builders import gpu_block, probe_block, task_directory, trace

ALIGN, SORT, GONE = "ab/cdef01", "cd/000000", "ef/111111"
ROWS = {
    ALIGN: (
        "12 ab/cdef01 4711 ALIGN_(s1) COMPLETED 0 2024-03-01_10:00:00.250 1m_2s 59.9s 99.7%"
        " 1.5_GB 2_GB 10_KB 5_B"
    ),
    SORT: "3 cd/000000 - SORT CACHED 0 2024-03-01_10:00:00.000 2s 1s - - - - -",
    GONE: "7 ef/111111 99 GONE FAILED 137 2024-03-01_10:00:00.000 2s 1s 5.0% 1_KB 0 1_B 2_B",
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work tree of Nextflow with two tasks that left traces, one of them cached."""
    monkeypatch.setenv("TZ", "UTC")
    names = {ALIGN: "ALIGN (s1)", SORT: "SORT"}
    for task_hash, name in names.items():
        directory = task_directory(
            tmp_path / "work" / task_hash.ljust(33, "0"), trace=trace(probe=...), exit_code=0
        )
        script = f"#!/bin/bash\n# NEXTFLOW TASK: {name}\nset -e\n"
        (directory / ".command.run").write_text(script)
        (directory / ".command.sh").touch()
    return tmp_path / "work"


def trace_txt(path: Path, *hashes: str) -> Path:
    lines = ["\t".join(TRACE_COLUMNS)]
    lines += ["\t".join(cell.replace("_", " ") for cell in ROWS[h].split()) for h in hashes]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def joined(work: Path, file: Path) -> dict[object, TraceRecord]:
    options = CollectOptions(fusion="on", nextflow_trace=read_nextflow_trace(file))
    return {record["hash"]: record for record in collect_directories([work], options)}


def test_without_trace_txt_the_path_and_the_script_tell(work: Path) -> None:
    records = collect_directories([work], CollectOptions(fusion="on"))
    names = [(record["hash"], record["name"], record["process"]) for record in records]
    assert names == [(ALIGN, "ALIGN (s1)", "ALIGN"), (SORT, "SORT", "SORT")]
    assert [record.gpu_metrics for record in records] == [gpu_block()] * 2


def test_a_newer_script_names_its_task_too(tmp_path: Path) -> None:
    directory = task_directory(tmp_path / "t", exit_code=0)
    head = "#!/bin/bash\n### ---\n### name: 'QC (x)'\n### ...\n"
    (directory / ".command.run").write_text(head)
    (record,) = collect_directories([tmp_path])
    assert (record["name"], record["process"]) == ("QC (x)", "QC")


def test_trace_txt_gives_ids_and_the_files_give_figures(work: Path) -> None:
    record = joined(work, trace_txt(work.parent / "trace.txt", ALIGN, SORT))[ALIGN]
    assert (record["task_id"], record["native_id"]) == ("12", "4711")
    assert (record["name"], record["process"], record["exit"]) == ("ALIGN (s1)", "ALIGN", 0)
    assert record["submit"] == 1709287200250
    assert record["duration"] == 62000
    assert record["realtime"] == 1000  # the trace's, not the rounded one
    assert record["rchar"] == 100


def test_a_cached_task_keeps_its_gpu_figures(work: Path) -> None:
    record = joined(work, trace_txt(work.parent / "trace.txt", ALIGN, SORT))[SORT]
    assert record["status"] == "CACHED"
    assert record["native_id"] is None
    assert record.gpu_metrics == gpu_block()


def test_a_task_whose_directory_is_gone_is_reported(work: Path) -> None:
    records = joined(work, trace_txt(work.parent / "trace.txt", ALIGN, SORT, GONE))
    record = records[GONE]
    assert (record["status"], record["exit"], record["workdir"]) == ("FAILED", 137, None)
    assert (record["peak_rss"], record["%cpu"]) == (1024, 5.0)
    assert [record["task_id"] for record in records.values()] == ["3", "7", "12"]


def test_a_directory_that_trace_txt_does_not_name_is_reported(work: Path) -> None:
    records = joined(work, trace_txt(work.parent / "trace.txt", ALIGN))
    assert (records[SORT]["task_id"], records[SORT]["status"]) == (None, "COMPLETED")


def test_raw_values_are_read(tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(f"hash\tsubmit\tduration\tpeak_rss\t%cpu\n{ALIGN}\t1000\t62001\t5\t99.7\n")
    fields = read_nextflow_trace(file).fields_of(ALIGN)
    assert (fields["submit"], fields["duration"], fields["peak_rss"]) == (1000, 62001, 5)
    assert fields["%cpu"] == 99.7


def test_a_bad_cell_costs_only_itself_and_a_cut_line_only_its_task(tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(f"hash\tduration\texit\tname\n{ALIGN}\tsoon\tx\tn\n{SORT}\t1s")
    run = read_nextflow_trace(file)
    assert run.fields_of(ALIGN) == {"hash": ALIGN, "name": "n", "process": "n"}
    assert run.fields_of(SORT) == {}
    assert list(run) == [ALIGN]


def test_a_trace_txt_without_hashes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("task_id\tname\n")
    with pytest.raises(TraceMalformed, match="no column hash"):
        read_nextflow_trace(tmp_path / "trace.txt")
    with pytest.raises(TraceMalformed, match="cannot be read"):
        read_nextflow_trace(tmp_path / "none")


def test_collecting_twice_gives_the_same_bytes(work: Path) -> None:
    file = trace_txt(work.parent / "trace.txt", ALIGN, SORT, GONE)
    outputs = [work.parent / "1.jsonl", work.parent / "2.jsonl"]
    for out in outputs:
        words = ["collect", str(work), "--nextflow-trace", str(file), "--to", str(out)]
        assert main(words) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    statuses = [json.loads(line)["status"] for line in outputs[0].read_text().splitlines()]
    assert statuses == ["CACHED", "FAILED", "COMPLETED"]


def job(number: str, start_ms: int, **probe: object) -> dict[str, Any]:
    run_id = f"{number}-{probe.get('array')}-{probe.get('rank')}"
    values = {"job": number, "run_id": run_id, "start_ms": start_ms, "written_ms": start_ms + 1000}
    return trace(probe=probe_block(**{**values, "exit": 0, **probe}))


def plain_directory(directory: Path, **traces: dict[str, Any]) -> Path:
    (directory / ".fusion").mkdir(parents=True)
    for name, content in traces.items():
        file = directory / ".fusion" / f"trace.{name}.json"
        file.write_text(json.dumps(content))
    return directory


def test_each_slurm_job_of_a_plain_directory_has_its_record(tmp_path: Path) -> None:
    plain_directory(
        tmp_path / "d",
        a=job("101", 5000, exit=3),
        b0=job("100", 1000, rank="0"),
        b1=job("100", 1100, rank="1"),
        c1=job("90", 100, array="1"),
        c2=job("90", 200, array="2"),
    )
    records = collect_directories([tmp_path], CollectOptions(fusion="on"))
    found = [(record["native_id"], record["status"], record["rchar"]) for record in records]
    assert found == [
        ("90_1", "COMPLETED", 100),
        ("90_2", "COMPLETED", 100),
        ("100", "COMPLETED", 200),
        ("101", "FAILED", 100),
    ]


def test_the_ranks_of_a_launched_task_are_one_record_with_its_job(tmp_path: Path) -> None:
    directory = plain_directory(tmp_path / "d", a=job("7", 1, rank="0"), b=job("7", 2, rank="1"))
    (directory / ".exitcode").write_text("0")
    (record,) = collect_directories([tmp_path], CollectOptions(fusion="on"))
    assert (record["native_id"], record["rchar"]) == ("7", 200)
