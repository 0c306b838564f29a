#include "nvml_sink.h"

#include <stddef.h>

nvml_sink nvml_sink_of_gpu(probe_gpu_device *device, probe_union *busy) {
    return (nvml_sink){&device->gpu, &device->profile, busy, &device->span};
}

nvml_sink nvml_sink_of_memory(probe_gpu_device *device) {
    return (nvml_sink){.sum = &device->memory};
}

void nvml_sink_add(const nvml_sink *to, int64_t from_ns, int64_t to_ns, double raw_pct) {
    double pct = raw_pct > 100 ? 100 : raw_pct;
    probe_utilization_add(to->sum, from_ns, to_ns, pct);
    int64_t clipped_ns = from_ns > 0 ? from_ns : 0;
    if (to->profile != NULL && to_ns > clipped_ns) {
        probe_profile_add(to->profile, clipped_ns, to_ns, pct);
    }
    if (to->busy != NULL && pct > 0) {
        probe_union_add(to->busy, from_ns, to_ns);
    }
    if (to->span != NULL) {
        probe_busy_span_add(to->span, from_ns, to_ns, pct > 0);
    }
}
