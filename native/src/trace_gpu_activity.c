#include "trace_gpu_activity.h"

#include "gpu_summary.h"

static const struct {
    const char *mean, *peak;
} names[PROBE_ACTIVITIES] = {
    [PROBE_ACTIVITY_SM] = {"sm_activity_pct", "peak_sm_activity_pct"},
    [PROBE_ACTIVITY_SM_OCCUPANCY] = {"sm_occupancy_pct", "peak_sm_occupancy_pct"},
    [PROBE_ACTIVITY_TENSOR] = {"tensor_activity_pct", "peak_tensor_activity_pct"},
    [PROBE_ACTIVITY_DRAM_BW] = {"dram_bw_pct", "peak_dram_bw_pct"},
};

const char *probe_activity_name(probe_activity activity) {
    return names[activity].mean;
}

/* Finer than that nothing is meant. */
static double hundredths(double pct) {
    return (double)(int64_t)(pct * 100 + 0.5) / 100;
}

bool probe_activity_is_valid(const probe_activity_sum *sum, int64_t realtime_ns) {
    return sum->covered_ns > 0 &&
           (double)sum->covered_ns >= PROBE_GPU_COVERAGE_MIN * (double)realtime_ns;
}

void probe_trace_write_gpu_activity(probe_json *json, const probe_gpu_activity *activity,
                                    int64_t realtime_ns) {
    for (int i = 0; i < PROBE_ACTIVITIES; i++) {
        const probe_activity_sum *sum = &activity->of[i];
        if (probe_activity_is_valid(sum, realtime_ns)) {
            probe_json_double(json, names[i].mean,
                              hundredths(sum->pct_ns / (double)sum->covered_ns));
            probe_json_double(json, names[i].peak, hundredths(sum->peak_pct));
        }
    }
}
