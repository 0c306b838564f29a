"""How task directories are read: whether traces are expected, and where figures come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collector.collect.liveness import Host, local_host
from collector.trace import NextflowTrace

__all__ = ["CollectOptions", "FusionMode", "MetricsSource", "fusion_enabled", "metrics_source"]

FusionMode: TypeAlias = Literal["auto", "on", "off"]
MetricsSource: TypeAlias = Literal["auto", "trace.json", "command.trace", "nextflow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions:
    """Options of collecting.

    Attributes:
        fusion: `on` and `off` decide; `auto` asks the task's `.task.json`, then `FUSION_ENABLED`
            in `environment`, and is on where neither says anything. When off, no trace is opened.
        metrics_from: `auto` takes the trace's proc and cgroup figures where it has them, and those
            of `.command.trace` otherwise; `nextflow` decides as Nextflow does, which takes those
            of the trace, and no others, where `NXF_FUSION_TRACE` is exactly `true` and traces are
            read. The gpu block always comes from the trace.
        nextflow_trace: what the `trace.txt` of a Nextflow run tells of its tasks.
        environment: the environment variables that `auto` and `nextflow` may ask.
        host: the machine that running writers are looked up on.
        patience_s: how long to wait for one directory whose file system does not answer.
    """

    fusion: FusionMode = "off"
    metrics_from: MetricsSource = "auto"
    nextflow_trace: NextflowTrace | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    host: Host = field(default_factory=local_host)
    patience_s: float = 30.0


def fusion_enabled(options: CollectOptions, stated_by_task: bool | None) -> bool:
    """Say whether a trace is to be expected of a task.

    `FUSION_ENABLED` is on when it is exactly `true`, as in Nextflow.
    """
    if options.fusion != "auto":
        return options.fusion == "on"
    if stated_by_task is not None:
        return stated_by_task
    stated_by_environment = options.environment.get("FUSION_ENABLED")
    return stated_by_environment is None or stated_by_environment == "true"


def metrics_source(options: CollectOptions, *, fusion: bool) -> MetricsSource:
    """Say where figures come from: what was asked for, or as Nextflow would decide."""
    if options.metrics_from != "nextflow":
        return options.metrics_from
    # Exactly `true`: neither `1` nor `TRUE`.
    traced = fusion and options.environment.get("NXF_FUSION_TRACE") == "true"
    return "trace.json" if traced else "command.trace"
