/* The trace's gpu block as JSON. */
#ifndef PROBE_TRACE_GPU_H
#define PROBE_TRACE_GPU_H

#include "gpu_page.h"
#include "json.h"
#include <stdint.h>

/* gpu: with at least one device. */
void probe_trace_write_gpu(probe_json *json, const probe_gpu_snapshot *gpu, int64_t realtime_ns);

/* How the trace names the sources of a device that has them. */
const char *probe_utilization_source_name(const probe_gpu_device *device);
const char *probe_memory_source_name(const probe_gpu_device *device);

#endif
