/* How one device of the trace's gpu block fared, as JSON. */
#ifndef PROBE_TRACE_GPU_HEALTH_H
#define PROBE_TRACE_GPU_HEALTH_H

#include "gpu_page.h"
#include "json.h"
#include <stdbool.h>

void probe_trace_write_gpu_health(probe_json *json, const probe_gpu_device *device,
                                  int64_t realtime_ns, bool final);

#endif
