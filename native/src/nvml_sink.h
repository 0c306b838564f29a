/* Where the utilization readings of one source go. */
#ifndef PROBE_NVML_SINK_H
#define PROBE_NVML_SINK_H

#include "integral.h"
#include "profile.h"
#include <stdint.h>

typedef struct {
    probe_utilization *sum;
    probe_profile *profile; /* may be NULL */
    probe_union *busy;      /* may be NULL */
} nvml_sink;

/* The device was busy pct (above 100: 100) of the time between the two, in ns since the start of
 * the task; what lies before the start is left out. */
void nvml_sink_add(const nvml_sink *to, int64_t from_ns, int64_t to_ns, double pct);

#endif
