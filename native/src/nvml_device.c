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

/* Rates, and again the ring when they show that a device whose ring was dry has begun to work. */
static nvml_class read_rates(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                             probe_union *u, int64_t *known_ns) {
    int64_t told_ns = reader->gpu_ring.previous_ns; /* by a ring that has ended since */
    if (reader->previous_rates_ns < told_ns) {
        reader->previous_rates_ns = told_ns;
    }
    if (!nvml_rung_rests(&reader->rates_rung, now_ns) && nvml_rates_ask(reader, api) == NVML_OK &&
        reader->rates.pct.gpu > 0 && nvml_rings_wake(reader)) {
        nvml_class result = nvml_rings_read(reader, api, now_ns, u, known_ns);
        if (result != NVML_FEATURE_ABSENT) {
            return result;
        }
    }
    *known_ns = now_ns;
    return nvml_rates_read(reader, api, now_ns, u);
}

/* The ladder: a rung that the driver does not have for this device, or that fails
 * (NVML_FEATURE_ABSENT), leaves the reading to the next one. */
nvml_class nvml_reader_utilization(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                                   probe_union *u, int64_t *known_ns) {
    reader->rates.asked = false;
    nvml_follow_clock(reader, now_ns);
    nvml_class result = nvml_rings_read(reader, api, now_ns, u, known_ns);
    if (result == NVML_FEATURE_ABSENT) {
        result = nvml_gpm_read(reader, api, now_ns, u, known_ns);
    }
    if (result == NVML_FEATURE_ABSENT) {
        result = read_rates(reader, api, now_ns, u, known_ns);
    }
    return result;
}
