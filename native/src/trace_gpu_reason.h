/* Why a device's trace lacks figures of how busy it was. */
#ifndef PROBE_TRACE_GPU_REASON_H
#define PROBE_TRACE_GPU_REASON_H

#include "gpu_page.h"
#include <stdbool.h>
#include <stdint.h>

/* Why there is no utilization of a task of realtime_ns; NULL: there is. */
const char *probe_utilization_reason(const probe_gpu_device *device, int64_t realtime_ns);

/* Why there is no activity although the device has GPM; NULL: nothing to explain. */
const char *probe_activity_reason(const probe_gpu_device *device, int64_t realtime_ns);

/* Whether the device's events were read up to the end of what was seen of it; in a trace that is
 * not the final one, up to two looks before. */
bool probe_events_are_known(const probe_gpu_device *device, int64_t realtime_ns, bool final);

#endif
