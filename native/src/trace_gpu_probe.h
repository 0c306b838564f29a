/* What the trace's probe block says about GPUs, as JSON. */
#ifndef PROBE_TRACE_GPU_PROBE_H
#define PROBE_TRACE_GPU_PROBE_H

#include "gpu_page.h"
#include "json.h"
#include <stdint.h>

/* Into probe: the share of the time that was observed, if any utilization follows from it. */
void probe_trace_write_gpu_coverage(probe_json *json, const probe_gpu_snapshot *gpu,
                                    int64_t realtime_ns);

/* Into probe.sources. */
void probe_trace_write_gpu_sources(probe_json *json, const probe_gpu_snapshot *gpu,
                                   int64_t realtime_ns);

/* How the devices were chosen, as the trace names it. */
const char *probe_gpus_name(probe_gpus gpus);

/* Into probe.scope; gpu may be NULL. */
void probe_trace_write_gpu_scope(probe_json *json, const probe_gpu_snapshot *gpu);

/* Into probe; gpu may be NULL. */
void probe_trace_write_gpu_mock(probe_json *json, const probe_gpu_snapshot *gpu);

#endif
