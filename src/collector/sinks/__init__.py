"""Where records go."""

from collector.sinks.base import Sink
from collector.sinks.jsonl import JsonlSink, encode_jsonl, ordered_jsonl, record_row
from collector.sinks.target import check_target, write_target
from collector.sinks.tsv import TsvSink, encode_tsv
from collector.sinks.tsv_columns import Column, parse_columns

__all__ = [
    "Column",
    "JsonlSink",
    "Sink",
    "TsvSink",
    "check_target",
    "encode_jsonl",
    "encode_tsv",
    "ordered_jsonl",
    "parse_columns",
    "record_row",
    "write_target",
]
