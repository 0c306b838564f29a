"""TraceRecord: one task, as Nextflow describes it."""

from collections.abc import Iterator, Mapping
from typing import Any

from collector.record.fields import FIELDS, FieldValue
from collector.record.formatting import format_value, parse_converter
from collector.record.masking import mask_environment

__all__ = ["TraceRecord"]


class TraceRecord(Mapping[str, FieldValue]):
    """The 44 fields of one task, in order; a field that is not known is `None`.

    Values are raw: times in ms (dates: ms since 1970), memory in bytes, percentages in percent.

    `gpu_metrics` (the trace's whole gpu block) and `probe` (who measured, and how well) are
    transient: they stand beside the fields and take no part in iteration, `to_dict`, equality,
    copies and pickles.
    """

    __slots__ = ("_store", "gpu_metrics", "probe")

    gpu_metrics: Mapping[str, Any] | None
    probe: Mapping[str, Any] | None

    def __init__(self, fields: Mapping[str, FieldValue] | None = None) -> None:
        self._store: dict[str, FieldValue] = dict.fromkeys(FIELDS)
        self.gpu_metrics = None
        self.probe = None
        self.update(fields or {})

    def __getitem__(self, name: str) -> FieldValue:
        return self._store[name]

    def __setitem__(self, name: str, value: FieldValue) -> None:
        if name not in FIELDS:
            raise KeyError(f"{name!r} is not a field of TraceRecord; see collector.record.FIELDS")
        if name == "env" and isinstance(value, str):
            value = mask_environment(value)
        self._store[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._store)

    def __len__(self) -> int:
        return len(self._store)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TraceRecord):
            return NotImplemented
        return self._store == other._store

    __hash__ = None  # type: ignore[assignment]  # mutable, and Mapping declares no hash

    def __reduce__(self) -> tuple[type["TraceRecord"], tuple[dict[str, FieldValue]]]:
        return (TraceRecord, (self.to_dict(),))

    def __repr__(self) -> str:
        known = {name: value for name, value in self._store.items() if value is not None}
        return f"TraceRecord({known!r})"

    def update(self, fields: Mapping[str, FieldValue]) -> None:
        """Set several fields.

        Raises:
            KeyError: a name is not one of the 44; the fields before it have been set.
        """
        if not fields.keys() <= FIELDS.keys():
            unknown = next(name for name in fields if name not in FIELDS)
            raise KeyError(
                f"{unknown!r} is not a field of TraceRecord; see collector.record.FIELDS"
            )
        self._store.update(fields)
        environment = fields.get("env")
        if isinstance(environment, str):
            self._store["env"] = mask_environment(environment)

    def to_dict(self) -> dict[str, FieldValue]:
        """Return the fields, all of them and in order, as a new dictionary."""
        return dict(self._store)

    def fmt(self, name: str, converter: str | None = None) -> str:
        """Return a field as Nextflow writes it: `23.7 GB`, `1h 2s`, `104.5%`, `-`.

        `converter` is another type than the field's own, such as `num`, or `date:yyyy-MM-dd`.

        Raises:
            KeyError: the name is not one of the 44.
            FormatUnknown: there is no such converter.
        """
        if converter is not None:
            return parse_converter(converter)(self._store[name])
        return format_value(FIELDS[name], self._store[name])
