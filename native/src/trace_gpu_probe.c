#include "trace_gpu_probe.h"

#include "gpu_summary.h"
#include "trace_gpu_device.h"
#include "trace_gpu_sharing.h"
#include <stddef.h>

void probe_trace_write_gpu_coverage(probe_json *json, const probe_gpu_snapshot *gpu,
                                    int64_t realtime_ns) {
    probe_gpu_figures figures;
    probe_gpu_total_figures(gpu, realtime_ns, &figures);
    if (figures.utilization_valid) {
        probe_json_double(json, "coverage", figures.coverage);
    }
}

void probe_trace_write_gpu_sources(probe_json *json, const probe_gpu_snapshot *gpu,
                                   int64_t realtime_ns) {
    for (int i = 0; i < gpu->count; i++) {
        const probe_gpu_device *device = &gpu->device[i];
        probe_gpu_figures figures;
        probe_gpu_device_figures(device, realtime_ns, &figures);
        if (figures.utilization_valid) { /* devices of one host share their sources; each has its
                                            own beside it */
            probe_json_string(json, "gpu.utilization", probe_utilization_source_name(device));
            break;
        }
    }
    for (int i = 0; i < gpu->count; i++) {
        if (gpu->device[i].memory_source != PROBE_MEMORY_NONE) {
            probe_json_string(json, "gpu.memory", probe_memory_source_name(&gpu->device[i]));
            break;
        }
    }
}

const char *probe_gpus_name(probe_gpus gpus) {
    static const char *const names[] = {
        [PROBE_GPUS_NONE] = "none",
        [PROBE_GPUS_ALL_VISIBLE] = "all_visible",
        [PROBE_GPUS_CUDA_VISIBLE_DEVICES] = "cuda_visible_devices",
        [PROBE_GPUS_SLURM] = "slurm",
        [PROBE_GPUS_OPTION] = "option",
    };
    return names[gpus];
}

void probe_trace_write_gpu_scope(probe_json *json, const probe_gpu_snapshot *gpu) {
    probe_json_string(json, "gpus", probe_gpus_name(gpu == NULL ? PROBE_GPUS_NONE : gpu->gpus));
    probe_json_string(json, "confidence", gpu != NULL && gpu->ambiguous ? "ambiguous" : "exact");
    if (gpu != NULL) {
        probe_trace_write_gpu_shared(json, gpu);
    }
}

void probe_trace_write_gpu_mock(probe_json *json, const probe_gpu_snapshot *gpu) {
    probe_json_bool(json, "mock", gpu != NULL && gpu->mock);
}
