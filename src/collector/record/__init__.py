"""The TraceRecord: Nextflow's 44 fields, and what travels beside them."""

from collector.record.fields import FIELDS, GPU_KEYS, FieldType, FieldValue
from collector.record.formatting import (
    NOT_AVAILABLE,
    Converter,
    format_value,
    parse_converter,
    raw_converter,
)
from collector.record.masking import mask_environment
from collector.record.ordering import RecordOrder, record_order
from collector.record.trace_record import TraceRecord

__all__ = [
    "FIELDS",
    "GPU_KEYS",
    "NOT_AVAILABLE",
    "Converter",
    "FieldType",
    "FieldValue",
    "RecordOrder",
    "TraceRecord",
    "format_value",
    "mask_environment",
    "parse_converter",
    "raw_converter",
    "record_order",
]
