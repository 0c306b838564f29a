/* The trace's gpu block: what the helper published, as Fusion's figures. Pure arithmetic. */
#ifndef PROBE_GPU_SUMMARY_H
#define PROBE_GPU_SUMMARY_H

#include "gpu_page.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Less of the time than this is a glimpse, from which no utilization follows; and a device that was
 * seen for less than half of the time cannot be called unused. */
#define PROBE_GPU_COVERAGE_MIN 0.05
#define PROBE_GPU_COVERAGE_UNUSED 0.5

/* One device, or all of them together. */
typedef struct {
    bool total_valid, utilization_valid, controller_valid, used_valid;
    uint64_t mem_mib;
    int64_t active_ms;
    int64_t pct, peak_pct; /* rounded percent */
    int64_t controller_pct, peak_controller_pct;
    double used_pct, peak_used_pct; /* percent of total; valid when total and used are */
    uint64_t avg_used_mib, peak_used_mib;
    double coverage;     /* 0 to 1; valid with utilization */
    double mem_coverage; /* the same of memory in use, of one device */
    bool unused;         /* every device was watched for long enough, and never busy */
} probe_gpu_figures;

void probe_gpu_device_figures(const probe_gpu_device *device, int64_t realtime_ns,
                              probe_gpu_figures *figures);

/* Memory: sums; the peak is that of the simultaneous sum. Utilization: mean of the means, largest
 * peak; busy time: the union. A figure that one device lacks is taken from the others. */
void probe_gpu_total_figures(const probe_gpu_snapshot *snapshot, int64_t realtime_ns,
                             probe_gpu_figures *figures);

/* The first different Xids of all devices, at most size. Returns how many. */
int probe_gpu_distinct_xids(const probe_gpu_snapshot *gpu, uint64_t *xids, int size);

/* Whether what lowered the clocks is known: something did, or nothing did up to two looks before
 * the end. */
bool probe_gpu_throttle_is_known(const probe_gpu_health *health, int64_t realtime_ns);

/* The distinct product names, joined by ", "; what does not fit is cut. */
enum { PROBE_GPU_NAMES_SIZE = PROBE_GPU_MAX * (NVML_NAME_SIZE + 2) };
void probe_gpu_join_names(const probe_gpu_snapshot *snapshot, char *out, size_t size);

#endif
