"""Where records go."""

from collector.sinks.base import Sink
from collector.sinks.jsonl import JsonlSink, encode_jsonl, ordered_jsonl, record_row
from collector.sinks.target import check_target, write_target
from collector.sinks.tsv import TsvSink, encode_tsv

__all__ = [
    "JsonlSink",
    "Sink",
    "TsvSink",
    "check_target",
    "encode_jsonl",
    "encode_tsv",
    "ordered_jsonl",
    "record_row",
    "write_target",
]
