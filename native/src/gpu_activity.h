/* How a device's parts were used while kernels ran on it: what is published of its GPM counters. */
#ifndef PROBE_GPU_ACTIVITY_H
#define PROBE_GPU_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    PROBE_ACTIVITY_SM,           /* time in which a multiprocessor had work, mean of them all */
    PROBE_ACTIVITY_SM_OCCUPANCY, /* resident warps, of those that there could be */
    PROBE_ACTIVITY_TENSOR,       /* time in which tensor cores worked */
    PROBE_ACTIVITY_DRAM_BW,      /* memory bandwidth, of the largest possible */
    PROBE_ACTIVITIES
} probe_activity;

/* Means of intervals, in percent. */
typedef struct {
    int64_t covered_ns;
    double pct_ns;
    double peak_pct; /* largest mean of one interval */
} probe_activity_sum;

typedef struct {
    bool supported;   /* the device has GPM; single figures may still lack */
    bool refused;     /* but the driver tells none of these of it */
    int64_t until_ns; /* when it was read last, since the start of the task */
    probe_activity_sum of[PROBE_ACTIVITIES];
} probe_gpu_activity;

#endif
