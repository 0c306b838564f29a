"""Whatever bytes a task directory holds, its record says how the task ended."""

import tempfile
from pathlib import Path

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from collector.collect import CollectOptions, collect_directories
from collector.sinks import encode_jsonl, record_row
from helpers.builders import task_directory

_FILES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"{}", b'{"gpu":{"pct":1}}', b'{"probe":{"state":"final"}}']),
)


@seed(1)
@settings(max_examples=200, deadline=None)
@given(trace=_FILES, beside=_FILES, task=_FILES, command_trace=_FILES, script=_FILES)
def test_sc_003_no_content_of_any_file_costs_a_task_its_report(
    trace: bytes, beside: bytes, task: bytes, command_trace: bytes, script: bytes
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = task_directory(Path(scratch) / "t", trace=trace, task=task, exit_code=1)
        (directory / ".fusion" / "gpu-probe.json").write_bytes(beside)
        (directory / ".command.trace").write_bytes(command_trace)
        (directory / ".command.run").write_bytes(script)
        (record,) = collect_directories([Path(scratch)], CollectOptions(fusion="on"))
    assert (record["status"], record["exit"]) == ("FAILED", 1)
    assert encode_jsonl([record_row(record)]).endswith(b"\n")
