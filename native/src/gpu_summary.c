#include "gpu_summary.h"

#include "clock.h"
#include <stdio.h>
#include <string.h>

static const double bytes_per_mib = 1048576.0;

static int64_t rounded(double pct) {
    return (int64_t)(pct + 0.5);
}

/* Mean and peak of memory in use. The byte mean is an integer, and both the MiB and the percentage
 * follow from it, as in Fusion; the peak is an integer number of MiB first and a percentage of it
 * second. */
static void set_used(probe_gpu_figures *figures, uint64_t mean_bytes, uint64_t peak_bytes,
                     uint64_t total_bytes) {
    figures->used_valid = true;
    figures->avg_used_mib = mean_bytes >> 20;
    figures->peak_used_mib = peak_bytes >> 20;
    figures->total_valid = total_bytes > 0;
    if (figures->total_valid) {
        figures->mem_mib = total_bytes >> 20;
        figures->used_pct = 100.0 * (double)mean_bytes / (double)total_bytes;
        figures->peak_used_pct =
            100.0 * (double)figures->peak_used_mib * bytes_per_mib / (double)total_bytes;
    }
}

/* Of one device: what polls saw, or the driver's own mark where it is higher. */
static uint64_t peak_used(const probe_gpu_device *device) {
    return device->accounted_peak_bytes > device->used.peak_bytes ? device->accounted_peak_bytes
                                                                  : device->used.peak_bytes;
}

/* The share of the task's time that the readings cover. */
static double share(int64_t covered_ns, int64_t realtime_ns) {
    double part = (double)covered_ns / (double)(realtime_ns > 0 ? realtime_ns : 1);
    return part < 1.0 ? part : 1.0;
}

static double coverage(const probe_utilization *sum, int64_t realtime_ns) {
    return share(sum->covered_ns, realtime_ns);
}

void probe_gpu_device_figures(const probe_gpu_device *device, int64_t realtime_ns,
                              probe_gpu_figures *figures) {
    *figures = (probe_gpu_figures){0};
    if (device->used.any) {
        set_used(figures, probe_gauge_mean(&device->used), peak_used(device),
                 device->mem_total_bytes);
        figures->mem_coverage = share(device->used.held_ns, realtime_ns);
    }
    if (!device->used.any && device->mem_total_bytes > 0) { /* an instance says it of itself */
        figures->total_valid = true;
        figures->mem_mib = device->mem_total_bytes >> 20;
    }
    figures->coverage = coverage(&device->gpu, realtime_ns);
    if (figures->coverage >= PROBE_GPU_COVERAGE_MIN) {
        figures->utilization_valid = true;
        figures->active_ms = device->gpu.busy_ns / PROBE_NS_PER_MS;
        figures->pct = rounded(probe_utilization_mean(&device->gpu));
        figures->peak_pct = device->gpu.peak_pct;
        figures->unused = figures->peak_pct == 0 && figures->coverage >= PROBE_GPU_COVERAGE_UNUSED;
    }
    if (coverage(&device->memory, realtime_ns) >= PROBE_GPU_COVERAGE_MIN) {
        figures->controller_valid = true;
        figures->controller_pct = rounded(probe_utilization_mean(&device->memory));
        figures->peak_controller_pct = device->memory.peak_pct;
    }
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

void probe_gpu_total_figures(const probe_gpu_snapshot *snapshot, int64_t realtime_ns,
                             probe_gpu_figures *figures) {
    *figures = (probe_gpu_figures){.coverage = 1.0, .unused = snapshot->count > 0};
    uint64_t mean_bytes = 0, total_bytes = 0, peak_bytes = snapshot->peak_used_bytes;
    double pct = 0, controller_pct = 0;
    int with_memory = 0, with_utilization = 0, with_controller = 0;
    for (int i = 0; i < snapshot->count; i++) {
        const probe_gpu_device *device = &snapshot->device[i];
        probe_gpu_figures one;
        probe_gpu_device_figures(device, realtime_ns, &one);
        figures->unused = figures->unused && one.unused;
        if (one.used_valid) {
            with_memory++;
            mean_bytes += probe_gauge_mean(&device->used);
            total_bytes += device->mem_total_bytes;
            peak_bytes = peak_used(device) > peak_bytes ? peak_used(device) : peak_bytes;
        }
        if (one.utilization_valid) {
            with_utilization++;
            pct += probe_utilization_mean(&device->gpu);
            figures->peak_pct = larger(figures->peak_pct, one.peak_pct);
        }
        if (device->utilization_source != PROBE_UTILIZATION_NONE && /* also of a glimpse */
            one.coverage < figures->coverage) {
            figures->coverage = one.coverage;
        }
        if (one.controller_valid) {
            with_controller++;
            controller_pct += probe_utilization_mean(&device->memory);
            figures->peak_controller_pct =
                larger(figures->peak_controller_pct, one.peak_controller_pct);
        }
    }
    if (with_memory > 0) {
        set_used(figures, mean_bytes, peak_bytes, total_bytes);
    }
    if (with_utilization > 0) {
        figures->utilization_valid = true;
        figures->active_ms = snapshot->busy_ns / PROBE_NS_PER_MS;
        figures->pct = rounded(pct / with_utilization);
    }
    if (with_controller > 0) {
        figures->controller_valid = true;
        figures->controller_pct = rounded(controller_pct / with_controller);
    }
}

static bool contains(const uint64_t *numbers, int count, uint64_t number) {
    for (int i = 0; i < count; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

int probe_gpu_distinct_xids(const probe_gpu_snapshot *gpu, uint64_t *xids, int size) {
    int count = 0;
    for (int d = 0; d < gpu->count; d++) {
        const probe_gpu_health *health = &gpu->device[d].health;
        for (uint32_t i = 0; i < health->xids && i < PROBE_XIDS_MAX && count < size; i++) {
            if (health->xid[i].number != PROBE_XID_UNKNOWN &&
                !contains(xids, count, health->xid[i].number)) {
                xids[count++] = health->xid[i].number;
            }
        }
    }
    return count;
}

void probe_gpu_join_names(const probe_gpu_snapshot *gpu, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < gpu->count; i++) {
        bool repeated = gpu->device[i].name[0] == '\0';
        for (int j = 0; j < i && !repeated; j++) {
            repeated = strcmp(gpu->device[i].name, gpu->device[j].name) == 0;
        }
        if (!repeated && used < size) {
            int n =
                snprintf(out + used, size - used, used > 0 ? ", %s" : "%s", gpu->device[i].name);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

bool probe_gpu_throttle_is_known(const probe_gpu_health *health, int64_t realtime_ns) {
    return health->throttle_valid &&
           (health->throttle_bits != 0 ||
            health->throttle_ns >= realtime_ns - 2 * PROBE_HEALTH_PAUSE_NS);
}
