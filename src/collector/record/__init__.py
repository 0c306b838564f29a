"""The TraceRecord: Nextflow's 44 fields, and what travels beside them."""

from collector.record.fields import FIELDS, GPU_KEYS, FieldType, FieldValue
from collector.record.formatting import NOT_AVAILABLE, format_value
from collector.record.masking import mask_environment
from collector.record.trace_record import TraceRecord

__all__ = [
    "FIELDS",
    "GPU_KEYS",
    "NOT_AVAILABLE",
    "FieldType",
    "FieldValue",
    "TraceRecord",
    "format_value",
    "mask_environment",
]
