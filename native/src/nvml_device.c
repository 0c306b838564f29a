#include "nvml_device.h"

#include "clock.h"
#include "nvml_clock.h"
#include "nvml_gpm.h"
#include "nvml_rates.h"
#include "nvml_ring.h"

void nvml_reader_open(nvml_reader *reader, const nvml_api *api, nvml_device handle, int index,
                      probe_gpu_device *out) {
    *reader = (nvml_reader){.handle = handle, .out = out, .clock_ns = nvml_read_clock};
    out->index = index;
    probe_profile_init(&out->profile, 100 * PROBE_NS_PER_MS);
    if (api->name(handle, out->name, sizeof out->name) != NVML_OK) {
        out->name[0] = '\0';
    }
    if (api->uuid(handle, out->uuid, sizeof out->uuid) != NVML_OK) {
        out->uuid[0] = '\0';
    }
    out->name[sizeof out->name - 1] = out->uuid[sizeof out->uuid - 1] = '\0';
    nvml_rings_open(reader, api);
}

/* The ladder: a rung that the driver does not have for this device (NVML_FEATURE_ABSENT) leaves the
 * reading to the next one. */
nvml_class nvml_reader_utilization(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                                   probe_union *u, int64_t *known_ns) {
    nvml_follow_clock(reader, now_ns);
    nvml_class result = nvml_rings_read(reader, api, now_ns, u, known_ns);
    if (result == NVML_FEATURE_ABSENT) {
        result = nvml_gpm_read(reader, api, now_ns, u, known_ns);
    }
    if (result == NVML_FEATURE_ABSENT) {
        int64_t told_ns = reader->gpu_ring.previous_ns; /* by a ring that has ended since */
        if (reader->previous_rates_ns < told_ns) {
            reader->previous_rates_ns = told_ns;
        }
        *known_ns = now_ns;
        result = nvml_rates_read(reader, api, now_ns, u);
    }
    return result;
}
