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
    bool any = false, covered = false;
    for (int i = 0; i < PROBE_ACTIVITIES; i++) {
        any = any || probe_activity_is_valid(&device->activity.of[i], realtime_ns);
        covered = covered || device->activity.of[i].covered_ns > 0;
    }
    if (any || !device->activity.supported) {
        return NULL;
    }
    return device->activity.refused && !covered
               ? "the device has GPM, but the driver does not tell its activity"
               : "the device has GPM, but its counters cover less than 5 % of the task";
}

bool probe_events_are_known(const probe_gpu_device *device, int64_t realtime_ns, bool final) {
    int64_t end_ns = device->lost ? device->lost_ns : realtime_ns;
    return device->health.events_ns >= end_ns - (final ? 0 : 2 * PROBE_HEALTH_PAUSE_NS);
}
