/* How a device's parts were used, as JSON. */
#ifndef PROBE_TRACE_GPU_ACTIVITY_H
#define PROBE_TRACE_GPU_ACTIVITY_H

#include "gpu_activity.h"
#include "json.h"
#include <stdbool.h>
#include <stdint.h>

/* How the trace names the mean of an activity. */
const char *probe_activity_name(probe_activity activity);

/* Whether it was known for long enough. */
bool probe_activity_is_valid(const probe_activity_sum *sum, int64_t realtime_ns);

/* Into a device: mean and peak of each activity that was known for long enough. */
void probe_trace_write_gpu_activity(probe_json *json, const probe_gpu_activity *activity,
                                    int64_t realtime_ns);

#endif
