#include "trace_gpu_device.h"

#include "clock.h"
#include "trace_gpu_activity.h"
#include "trace_gpu_health.h"
#include "trace_gpu_sharing.h"

void probe_trace_write_gpu_figures(probe_json *json, const probe_gpu_figures *f) {
    if (f->utilization_valid) {
        probe_json_int(json, "active_time", f->active_ms);
        probe_json_int(json, "pct", f->pct);
        probe_json_int(json, "peak", f->peak_pct);
    }
    if (f->used_valid && f->total_valid) {
        probe_json_double(json, "pct_mem", f->used_pct);
        probe_json_double(json, "peak_mem", f->peak_used_pct);
    }
    if (f->used_valid) {
        probe_json_uint(json, "avg_mem", f->avg_used_mib);
        probe_json_uint(json, "peak_mem_used", f->peak_used_mib);
    }
    if (f->controller_valid) {
        probe_json_int(json, "avg_mem_bw_util", f->controller_pct);
        probe_json_int(json, "peak_mem_bw_util", f->peak_controller_pct);
    }
}

const char *probe_utilization_source_name(const probe_gpu_device *device) {
    static const char *const names[] = {
        [PROBE_UTILIZATION_NONE] = "none",
        [PROBE_UTILIZATION_SAMPLES] = "nvml_samples",
        [PROBE_UTILIZATION_RATES] = "nvml_utilization_rates",
        [PROBE_UTILIZATION_GPM] = "nvml_gpm",
    };
    return names[device->utilization_source];
}

const char *probe_memory_source_name(const probe_gpu_device *device) {
    return device->memory_source == PROBE_MEMORY_V2 ? "nvml_memory_v2" : "nvml_memory_v1";
}

static void write_profile(probe_json *json, const probe_profile *profile) {
    probe_json_open_inline(json, "profile", '{');
    probe_json_int(json, "bucket_ms", profile->bucket_ns / 1000000);
    probe_json_open(json, "pct", '[');
    for (int i = 0; i < probe_profile_length(profile); i++) {
        double mean = probe_profile_mean(profile, i);
        if (mean < 0) {
            probe_json_null(json, NULL);
        } else {
            probe_json_int(json, NULL, (int64_t)(mean + 0.5));
        }
    }
    probe_json_close(json, ']');
    probe_json_close(json, '}');
}

static void write_mig(probe_json *json, const probe_gpu_mig *mig) {
    probe_json_open_inline(json, "mig", '{');
    if (mig->parent_uuid[0] != '\0') {
        probe_json_string(json, "parent_uuid", mig->parent_uuid);
    }
    if (mig->gi >= 0) {
        probe_json_int(json, "gi", mig->gi);
    }
    if (mig->ci >= 0) {
        probe_json_int(json, "ci", mig->ci);
    }
    if (mig->slices > 0) {
        probe_json_uint(json, "slices", mig->slices);
    }
    if (mig->compute_slices > 0) {
        probe_json_uint(json, "compute_slices", mig->compute_slices);
    }
    probe_json_close(json, '}');
}

void probe_trace_write_gpu_device(probe_json *json, const probe_gpu_device *device,
                                  probe_pid_view pids, int64_t realtime_ns, bool final) {
    probe_gpu_figures figures;
    probe_gpu_device_figures(device, realtime_ns, &figures);
    probe_json_open(json, NULL, '{');
    probe_json_int(json, "index", device->index);
    if (device->uuid[0] != '\0') {
        probe_json_string(json, "uuid", device->uuid);
    }
    if (device->mig.is_instance) {
        write_mig(json, &device->mig);
    }
    if (device->name[0] != '\0') {
        probe_json_string(json, "name", device->name);
    }
    if (figures.total_valid) {
        probe_json_uint(json, "mem", figures.mem_mib);
    }
    probe_trace_write_gpu_figures(json, &figures);
    if (figures.utilization_valid) {
        probe_json_double(json, "coverage", figures.coverage);
        probe_json_uint(json, "samples", device->gpu.readings);
        probe_json_string(json, "utilization_source", probe_utilization_source_name(device));
    }
    probe_trace_write_gpu_activity(json, &device->activity, realtime_ns);
    if (device->memory_source != PROBE_MEMORY_NONE) {
        probe_json_string(json, "memory_source", probe_memory_source_name(device));
        probe_json_double(json, "mem_coverage", figures.mem_coverage);
    }
    probe_trace_write_gpu_sharing(json, device, pids, realtime_ns, final);
    probe_trace_write_gpu_health(json, device, realtime_ns, final);
    if (figures.utilization_valid) {
        if (device->span.any_busy) {
            probe_json_int(json, "first_busy_ms", device->span.first_busy_ns / PROBE_NS_PER_MS);
        }
        probe_json_int(json, "longest_idle_ms", device->span.longest_idle_ns / PROBE_NS_PER_MS);
        write_profile(json, &device->profile);
    }
    if (device->lost) {
        probe_json_int(json, "lost_at_ms", device->lost_ns / 1000000);
    }
    probe_json_close(json, '}');
}
