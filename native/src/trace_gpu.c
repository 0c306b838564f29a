#include "trace_gpu.h"

#include "gpu_summary.h"
#include "trace_gpu_device.h"

void probe_trace_write_gpu(probe_json *json, const probe_gpu_snapshot *gpu, int64_t realtime_ns,
                           bool final) {
    probe_gpu_figures figures;
    char names[PROBE_GPU_NAMES_SIZE];
    probe_gpu_total_figures(gpu, realtime_ns, &figures);
    probe_gpu_join_names(gpu, names, sizeof names);
    probe_json_open(json, "gpu", '{');
    if (names[0] != '\0') {
        probe_json_string(json, "name", names);
    }
    if (figures.total_valid) {
        probe_json_uint(json, "mem", figures.mem_mib);
    }
    if (gpu->driver[0] != '\0') {
        probe_json_string(json, "driver", gpu->driver);
    }
    probe_trace_write_gpu_figures(json, &figures);
    probe_json_open(json, "devices", '[');
    for (int i = 0; i < gpu->count; i++) {
        probe_trace_write_gpu_device(json, &gpu->device[i], gpu->pids, realtime_ns, final);
    }
    probe_json_close(json, ']');
    probe_json_close(json, '}');
}
