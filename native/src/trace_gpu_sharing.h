/* What a trace says of the processes on a device, and of memory that could not be measured. */
#ifndef PROBE_TRACE_GPU_SHARING_H
#define PROBE_TRACE_GPU_SHARING_H

#include "gpu_page.h"
#include "json.h"
#include <stdbool.h>

/* Why the task's own memory on the device is not known; NULL: it is. */
const char *probe_own_memory_reason(const probe_gpu_device *device, probe_pid_view pids);

/* Why no memory of the device was read; NULL: it was. */
const char *probe_memory_reason(const probe_gpu_device *device);

/* Into one device of the gpu block, with the reasons for figures that it lacks. */
void probe_trace_write_gpu_sharing(probe_json *json, const probe_gpu_device *device,
                                   probe_pid_view pids, int64_t realtime_ns, bool final);

/* Into probe.scope: whether others used the devices, if that can be told. */
void probe_trace_write_gpu_shared(probe_json *json, const probe_gpu_snapshot *gpu);

#endif
