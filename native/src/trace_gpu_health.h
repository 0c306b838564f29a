/* How one device of the trace's gpu block fared, as JSON. */
#ifndef PROBE_TRACE_GPU_HEALTH_H
#define PROBE_TRACE_GPU_HEALTH_H

#include "gpu_health.h"
#include "json.h"

void probe_trace_write_gpu_health(probe_json *json, const probe_gpu_health *health);

#endif
