/* One device of the trace's gpu block as JSON. */
#ifndef PROBE_TRACE_GPU_DEVICE_H
#define PROBE_TRACE_GPU_DEVICE_H

#include "gpu_page.h"
#include "gpu_summary.h"
#include "json.h"
#include <stdbool.h>
#include <stdint.h>

void probe_trace_write_gpu_device(probe_json *json, const probe_gpu_device *device,
                                  probe_pid_view pids, int64_t realtime_ns, bool final);

/* The figures that a device and the whole block have in common; name and memory are the caller's.
 */
void probe_trace_write_gpu_figures(probe_json *json, const probe_gpu_figures *figures);

/* How the trace names the sources of a device that has them. */
const char *probe_utilization_source_name(const probe_gpu_device *device);
const char *probe_memory_source_name(const probe_gpu_device *device);

#endif
