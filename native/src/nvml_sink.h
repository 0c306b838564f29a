/* Where the utilization readings of one source go. */
#ifndef PROBE_NVML_SINK_H
#define PROBE_NVML_SINK_H

#include "busy_span.h"
#include "gpu_page.h"
#include "integral.h"
#include "profile.h"
#include <stdint.h>

typedef struct {
    probe_utilization *sum;
    probe_profile *profile; /* may be NULL */
    probe_union *busy;      /* may be NULL */
    probe_busy_span *span;  /* may be NULL */
} nvml_sink;

/* For readings of a device's own utilization, whatever their source. */
nvml_sink nvml_sink_of_gpu(probe_gpu_device *device, probe_union *busy);

/* For readings of its memory controller's. */
nvml_sink nvml_sink_of_memory(probe_gpu_device *device);

/* The device was busy pct (above 100: 100) of the time between the two, in ns since the start of
 * the task; what lies before the start is left out. */
void nvml_sink_add(const nvml_sink *to, int64_t from_ns, int64_t to_ns, double pct);

#endif
