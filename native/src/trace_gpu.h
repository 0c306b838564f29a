/* The trace's gpu block as JSON. */
#ifndef PROBE_TRACE_GPU_H
#define PROBE_TRACE_GPU_H

#include "gpu_page.h"
#include "json.h"
#include <stdbool.h>
#include <stdint.h>

/* gpu: with at least one device. */
void probe_trace_write_gpu(probe_json *json, const probe_gpu_snapshot *gpu, int64_t realtime_ns,
                           bool final);

#endif
