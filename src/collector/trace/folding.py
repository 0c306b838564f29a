"""Several traces of one task as one: ranks folded, and another program's trace merged with ours."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from collector.trace.fusion import Trace
from collector.trace.gpu_folding import fold_gpus
from collector.trace.numbers import COUNTERS, counter

__all__ = ["fold_traces", "merge_traces"]

_LOG = logging.getLogger(__name__)

_Block: TypeAlias = Mapping[str, Any]

_MEMORY = ("pct_mem", "vmem", "rss", "peak_vmem", "peak_rss")
_NOTE = (
    "folded from {count} traces: memory is the sum of the ranks' peaks on the host where that is "
    "largest, which they need not have reached at the same time"
)


def fold_traces(traces: Sequence[Trace]) -> Trace:
    """Fold the traces of processes that ran side by side; at least one, each with a probe block.

    Counters are added up. `realtime` is from the first start to the last end. Control groups are
    left out: ranks on one host usually share theirs.
    """
    gpus = [(t.gpu, t.text("hostname") or "", _realtime_ms(t)) for t in traces if t.gpu]
    return Trace(
        proc=_contained("proc", lambda: _fold_proc(traces), None),
        gpu=_contained("gpu", lambda: fold_gpus(gpus), None),
        probe=_contained("probe", lambda: _fold_probe(traces), _decisive(traces)),
    )


def _contained(
    name: str, fold: Callable[[], _Block | None], otherwise: _Block | None
) -> _Block | None:
    """Fold one block; what is wrong with it must not cost the others."""
    try:
        return fold()
    except Exception:
        _LOG.exception("the %s blocks of several traces cannot be folded", name)
        return otherwise


def _realtime_ms(trace: Trace) -> int:
    return counter((trace.proc or {}).get("realtime")) or 0


def merge_traces(foreign: Trace, ours: Trace) -> Trace:
    """Merge the trace of another program with ours of the same task: its keys first."""
    probe = dict(ours.probe or {})
    if isinstance(probe.get("unavailable"), list):
        probe["unavailable"] = [key for key in probe["unavailable"] if not _tells(foreign, key)]
    if foreign.cgroup and isinstance(probe.get("scope"), dict):
        probe["scope"] = {key: value for key, value in probe["scope"].items() if key != "cgroup"}
    return Trace(
        gpu=_merge(foreign.gpu, ours.gpu),
        proc=_merge(foreign.proc, ours.proc),
        cgroup=_merge(foreign.cgroup, ours.cgroup),
        probe=probe or None,
        problems=foreign.problems + ours.problems,
    )


def _merge(
    first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    absent = {key: value for key, value in (second or {}).items() if key not in (first or {})}
    return {**(first or {}), **absent} or None


def _tells(trace: Trace, dotted: object) -> bool:
    block, _, key = str(dotted).partition(".")
    blocks = {"proc": trace.proc, "gpu": trace.gpu, "cgroup": trace.cgroup}
    return key in (blocks.get(block) or {})


def _fold_proc(traces: Sequence[Trace]) -> Mapping[str, Any] | None:
    blocks = [trace.proc for trace in traces if trace.proc]
    if not blocks:
        return None
    folded: dict[str, Any] = {}
    for block in reversed(blocks):
        folded |= block
    realtime = folded["realtime"] = _realtime(traces)
    cpu = sum((counter(b.get("pct_cpu")) or 0) * (counter(b.get("realtime")) or 0) for b in blocks)
    folded["pct_cpu"] = round(cpu / max(realtime, 1))
    folded |= {key: _total(blocks, key) for key in COUNTERS if key in folded}
    folded |= {key: _largest_host(traces, key) for key in _MEMORY if key in folded}
    return folded


def _realtime(traces: Sequence[Trace]) -> int:
    """From the first start to the last end, ms; the longest where the starts are not known."""
    lengths = [counter((trace.proc or {}).get("realtime")) or 0 for trace in traces]
    starts = [trace.number("start_ms") for trace in traces]
    known = [start for start in starts if start is not None]
    if len(known) < len(traces):
        return max(lengths)
    ends = [start + length for start, length in zip(known, lengths, strict=True)]
    return max(ends) - min(known)


def _total(blocks: Iterable[Mapping[str, Any]], key: str) -> int:
    return sum(counter(block.get(key)) or 0 for block in blocks)


def _largest_host(traces: Sequence[Trace], key: str) -> int:
    by_host: dict[str | None, int] = {}
    for trace in traces:
        host = trace.text("hostname")
        by_host[host] = by_host.get(host, 0) + (counter((trace.proc or {}).get(key)) or 0)
    return max(by_host.values(), default=0)


def _fold_probe(traces: Sequence[Trace]) -> Mapping[str, Any]:
    """Take the probe block that decides about the task, with the figures of all.

    A rank that still runs decides first, then one that died by a signal, then the largest exit
    status.
    """
    blocks: list[_Block] = [trace.probe or {} for trace in traces]
    folded = dict(_decisive(traces))
    for key in ("rank", "within"):
        folded.pop(key, None)
    if len({trace.text("array") for trace in traces}) > 1:
        folded.pop("array", None)
    for key, choose in (("start_ms", min), ("written_ms", max)):
        known = [number for trace in traces if (number := trace.number(key)) is not None]
        if known:
            folded[key] = choose(known)
    folded["samples"] = _total(blocks, "samples")
    coverages = [b["coverage"] for b in blocks if isinstance(b.get("coverage"), int | float)]
    if coverages:
        folded["coverage"] = min(coverages)
    scope = folded.get("scope")
    if isinstance(scope, dict):
        folded["scope"] = {key: value for key, value in scope.items() if key != "cgroup"}
    folded["unavailable"] = _union(blocks, "unavailable")
    folded["mock"] = any(block.get("mock") is True for block in blocks)
    folded["notes"] = [_NOTE.format(count=len(traces)), *_union(blocks, "notes")]
    folded["traces"] = len(traces)
    return folded


def _decisive(traces: Sequence[Trace]) -> _Block:
    return max((trace.probe or {} for trace in traces), key=_weight)


def _weight(probe: Mapping[str, Any]) -> tuple[bool, int, int]:
    return (
        probe.get("state") == "running",
        counter(probe.get("signal")) or 0,
        counter(probe.get("exit")) or 0,
    )


def _union(blocks: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    lists = (block.get(key) for block in blocks)
    texts = (text for found in lists if isinstance(found, list) for text in found)
    return list(dict.fromkeys(text for text in texts if isinstance(text, str)))
