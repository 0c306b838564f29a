#include "trace_gpu_reason.h"

#include "gpu_summary.h"
#include "trace_gpu_activity.h"

const char *probe_utilization_reason(const probe_gpu_device *device, int64_t realtime_ns) {
    probe_gpu_figures figures;
    probe_gpu_device_figures(device, realtime_ns, &figures);
    if (figures.utilization_valid) {
        return NULL;
    }
    if (device->lost) {
        return "the device was lost before enough of the task was seen";
    }
    if (device->utilization_source != PROBE_UTILIZATION_NONE) {
        return "the readings cover less than 5 % of the task";
    }
    if (device->utilization_forbidden) {
        return "the driver does not permit it";
    }
    return device->mig.is_instance
               ? "the driver tells no utilization of MIG instances on this device"
               : "the driver tells no utilization of this device";
}

const char *probe_activity_reason(const probe_gpu_device *device, int64_t realtime_ns) {
    bool any = false;
    for (int i = 0; i < PROBE_ACTIVITIES; i++) {
        any = any || probe_activity_is_valid(&device->activity.of[i], realtime_ns);
    }
    return any || !device->activity.supported
               ? NULL
               : "the device has GPM, but its counters cover less than 5 % of the task";
}
