#include "trace_gpu_sharing.h"

#include "clock.h"
#include "gpu_summary.h"
#include "trace_gpu_reason.h"
#include <stddef.h>
#include <stdio.h>

static const char list_failed[] = "the driver's lists of processes failed";
static const char numbers_of_nobody[] =
    "the driver lists processes by numbers that no process has here";

/* Why it is not known that nobody else was there; NULL: it is known, or somebody was, or the driver
 * lists nothing. */
static const char *others_reason(const probe_gpu_device *device, probe_pid_view pids) {
    const probe_gpu_sharing *sharing = &device->sharing;
    if (!sharing->listed || pids == PROBE_PIDS_FOREIGN || sharing->others_peak > 0 ||
        probe_gpu_sharing_certain(sharing)) {
        return NULL;
    }
    return sharing->failed       ? list_failed
           : sharing->incomplete ? numbers_of_nobody
                                 : "the driver did not list the processes at the end";
}

const char *probe_own_memory_reason(const probe_gpu_device *device, probe_pid_view pids) {
    const probe_gpu_sharing *sharing = &device->sharing;
    if (sharing->own_known) {
        return NULL;
    }
    if (sharing->own_seen) {
        return "the driver does not tell the memory of single processes";
    }
    if (!sharing->listed) {
        return sharing->failed ? list_failed : "the driver lists no processes of this device";
    }
    if (pids == PROBE_PIDS_FOREIGN) {
        return "the driver or /proc numbers processes as another PID namespace does";
    }
    if (sharing->incomplete) {
        return numbers_of_nobody;
    }
    if (sharing->failed) {
        return list_failed;
    }
    return "no process of the task was on the device when the driver was asked";
}

const char *probe_memory_reason(const probe_gpu_device *device) {
    static const char *const reasons[] = {
        [PROBE_MEMORY_UNREAD] = "the driver gave no reading",
        [PROBE_MEMORY_NOT_SUPPORTED] =
            "the driver does not tell it for this device, as for unified memory",
        [PROBE_MEMORY_FORBIDDEN] = "the driver does not permit it",
        [PROBE_MEMORY_NONSENSE] = "the driver's figures cannot be true",
        [PROBE_MEMORY_UNIFIED] = "the device has no memory of its own: it uses the host's",
    };
    return device->used.any ? NULL : reasons[device->memory_absence];
}

/* A figure that the device has, without a reading. */
static const char *health_reason(bool valid, bool missed) {
    return valid || !missed ? NULL : "the driver gave no reading when it was due";
}

/* Why a list that is looked at now and then is not known to the end; NULL: it is. */
static const char *watch_reason(char *out, size_t size, bool known, const char *unread,
                                int64_t until_ns) {
    if (known) {
        return NULL;
    }
    (void)snprintf(out, size, "%s after %lld ms", unread, (long long)(until_ns / PROBE_NS_PER_MS));
    return out;
}

static void write_absent(probe_json *json, const probe_gpu_device *device, probe_pid_view pids,
                         int64_t realtime_ns, bool final) {
    const probe_gpu_health *health = &device->health;
    const bool throttle_known =
        !health->throttle_valid || probe_gpu_throttle_is_known(health, realtime_ns);
    const bool events_known =
        !health->events_valid || probe_events_are_known(device, realtime_ns, final);
    char throttle[64], events[64];
    const struct {
        const char *key, *reason;
    } all[] = {
        {"pct", probe_utilization_reason(device, realtime_ns)},
        {"sm_activity_pct", probe_activity_reason(device, realtime_ns)},
        /* the size of an instance is known without a reading */
        {device->mem_total_bytes > 0 ? "avg_mem" : "mem", probe_memory_reason(device)},
        {"own_peak_mem_used", probe_own_memory_reason(device, pids)},
        {"others", others_reason(device, pids)},
        {"energy_mj", health_reason(health->energy_valid, health->energy_missed)},
        {"peak_temp_c", health_reason(health->temp_valid, health->temp_missed)},
        {"ecc_corrected", health_reason(health->ecc_corrected_valid, health->ecc_corrected_missed)},
        {"ecc_uncorrected",
         health_reason(health->ecc_uncorrected_valid, health->ecc_uncorrected_missed)},
        {"throttle_reasons", watch_reason(throttle, sizeof throttle, throttle_known,
                                          "nobody looked", health->throttle_ns)},
        {"xids", watch_reason(events, sizeof events, events_known, "events were not read",
                              health->events_ns)},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].reason != NULL && !any) {
            any = true;
            probe_json_open(json, "absent", '{');
        }
        if (all[i].reason != NULL) {
            probe_json_string(json, all[i].key, all[i].reason);
        }
    }
    if (any) {
        probe_json_close(json, '}');
    }
}

static void write_others(probe_json *json, const probe_gpu_sharing *sharing) {
    probe_json_open_inline(json, "others", '{');
    probe_json_int(json, "count", sharing->others_peak);
    if (sharing->others_peak > 0 && !sharing->others_unknown) {
        probe_json_uint(json, "mem_used", sharing->others_peak_bytes >> 20);
    }
    probe_json_close(json, '}');
}

void probe_trace_write_gpu_sharing(probe_json *json, const probe_gpu_device *device,
                                   probe_pid_view pids, int64_t realtime_ns, bool final) {
    const probe_gpu_sharing *sharing = &device->sharing;
    if (device->accounted_peak_bytes > device->used.peak_bytes && device->used.any) {
        probe_json_string(json, "peak_mem_source", "nvml_accounting");
    }
    if (!device->used.any && device->memory_absence == PROBE_MEMORY_UNIFIED) {
        probe_json_bool(json, "unified_memory", true);
    }
    if (device->used_at_start_known) {
        probe_json_uint(json, "mem_used_at_start", device->used_at_start_bytes >> 20);
    }
    if (sharing->own_known) {
        probe_json_uint(json, "own_peak_mem_used", sharing->own_peak_bytes >> 20);
        probe_json_string(json, "own_mem_source",
                          sharing->own_accounted ? "nvml_accounting" : "nvml_processes");
    }
    if (pids != PROBE_PIDS_FOREIGN && sharing->listed && others_reason(device, pids) == NULL) {
        write_others(json, sharing);
    }
    write_absent(json, device, pids, realtime_ns, final);
}

void probe_trace_write_gpu_shared(probe_json *json, const probe_gpu_snapshot *gpu) {
    bool shared = false, certain = gpu->pids == PROBE_PIDS_ALL && gpu->count > 0;
    for (int i = 0; i < gpu->count; i++) {
        const probe_gpu_sharing *sharing = &gpu->device[i].sharing;
        shared = shared || sharing->others_peak > 0;
        certain = certain && probe_gpu_sharing_certain(sharing);
    }
    if (shared || certain) { /* an empty list may be one of processes that are left out */
        probe_json_bool(json, "shared", shared);
    }
}
