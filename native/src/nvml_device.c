#include "nvml_device.h"

#include "clock.h"
#include "nvml_clock.h"
#include <stdlib.h>
#include <string.h>

/* A gap of more than this many periods between two driver samples is a hole in the history, not a
 * late sample. */
static const int64_t gap_periods = 3;

/* For a ring without entries: the usual spacing, rounded up. */
static const int64_t unknown_period_ns = 250 * PROBE_NS_PER_MS;

/* An entry may be newer than "now", by the time that the driver takes to answer. */
static const int64_t entry_late_ns = PROBE_NS_PER_S;

nvml_class nvml_classify(nvml_return code) {
    switch (code) {
    case NVML_OK:
        return NVML_GOOD;
    case NVML_E_NOT_SUPPORTED:
    case NVML_E_FUNCTION_NOT_FOUND:
        return NVML_FEATURE_ABSENT;
    case NVML_E_GPU_IS_LOST:
    case NVML_E_RESET_REQUIRED:
    case NVML_E_GPU_NOT_FOUND:
    case NVML_E_INVALID_STATE:
        return NVML_DEVICE_GONE;
    case NVML_E_UNINITIALIZED:
    case NVML_E_DRIVER_NOT_LOADED:
    case NVML_E_OPERATING_SYSTEM:
    case NVML_E_LIB_RM_VERSION_MISMATCH:
        return NVML_LIBRARY_GONE;
    default:
        return NVML_TRANSIENT;
    }
}

static int by_time(const void *a, const void *b) {
    unsigned long long x = ((const nvml_sample *)a)->timestamp_us,
                       y = ((const nvml_sample *)b)->timestamp_us;
    return (x > y) - (x < y);
}

/* Asks for the ring's capacity and makes room. The ring counts as supported unless the driver says
 * that it never will be. */
static void open_ring(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring) {
    int value_type = 0;
    unsigned int capacity = 0;
    if (api->samples == NULL ||
        nvml_classify(api->samples(reader->handle, type, 0, &value_type, &capacity, NULL)) ==
            NVML_FEATURE_ABSENT) {
        return;
    }
    capacity = capacity == 0 || capacity > 4096
                   ? 128
                   : capacity; /* a driver's nonsense must not cost memory */
    if (capacity > reader->samples_size) {
        nvml_sample *room = realloc(reader->samples, capacity * sizeof *room);
        if (room == NULL) {
            return;
        }
        reader->samples = room;
        reader->samples_size = capacity;
    }
    ring->supported = true;
    ring->capacity = capacity;
}

nvml_class nvml_reader_open(nvml_reader *reader, const nvml_api *api, nvml_device handle, int index,
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
    open_ring(reader, api, NVML_SAMPLES_GPU_UTILIZATION, &reader->gpu_ring);
    open_ring(reader, api, NVML_SAMPLES_MEMORY_UTILIZATION, &reader->memory_ring);
    reader->energy_known =
        api->energy != NULL && api->energy(handle, &reader->energy_start_mj) == NVML_OK;
    return NVML_GOOD;
}

nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns) {
    probe_gpu_device *out = reader->out;
    nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2_VERSION};
    nvml_memory v1 = {0};
    unsigned long long total, used;
    nvml_return code = NVML_E_FUNCTION_NOT_FOUND;
    if (api->memory_v2 != NULL && out->memory_source != PROBE_MEMORY_V1) {
        code = api->memory_v2(reader->handle, &v2);
    }
    total = v2.total;
    used = v2.used;
    probe_memory_source source = PROBE_MEMORY_V2;
    /* Whatever v2 says (WSL: symbol there, call fails), v1 may work. But the two count differently:
     * once a device was read by one of them, the other is not mixed in. */
    if (code != NVML_OK && out->memory_source != PROBE_MEMORY_V2) {
        code = api->memory(reader->handle, &v1);
        total = v1.total;
        used = v1.used;
        source = PROBE_MEMORY_V1;
    }
    if (code == NVML_OK && total > 0) { /* unified-memory devices say 0: not a measurement */
        out->memory_source = source;
        out->mem_total_bytes = total;
        probe_gauge_add(&out->used, now_ns, used < total ? used : total);
    }
    return nvml_classify(code);
}

static uint32_t sample_pct(const nvml_sample *sample, int value_type) {
    unsigned long long value;
    switch (value_type) {
    case NVML_VALUE_DOUBLE:
        value = sample->value.d > 0 ? (unsigned long long)(sample->value.d + 0.5) : 0;
        break;
    case NVML_VALUE_UNSIGNED_LONG:
        value = sample->value.ul;
        break;
    case NVML_VALUE_UNSIGNED_LONG_LONG:
    case NVML_VALUE_SIGNED_LONG_LONG:
        value = sample->value.ull;
        break;
    default:
        value = sample->value.ui;
    }
    return value > 100 ? 100 : (uint32_t)value;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void learn_period(nvml_ring *ring, const nvml_sample *samples, unsigned int count) {
    int64_t spacing[128];
    size_t n = 0;
    for (unsigned int i = 1; i < count && n < sizeof spacing / sizeof spacing[0]; i++) {
        spacing[n++] = (int64_t)(samples[i].timestamp_us - samples[i - 1].timestamp_us) * 1000;
    }
    if (n > 0) {
        qsort(spacing, n, sizeof spacing[0], by_value);
        ring->period_ns = spacing[n / 2];
    }
}

/* Where the readings of one ring go. */
typedef struct {
    probe_utilization *sum;
    probe_profile *profile; /* may be NULL */
    probe_union *busy;      /* may be NULL */
} sink;

static void add_reading(const sink *to, int64_t from_ns, int64_t to_ns, uint32_t pct) {
    probe_utilization_add(to->sum, from_ns, to_ns, pct);
    int64_t clipped_ns = from_ns > 0 ? from_ns : 0;
    if (to->profile != NULL && to_ns > clipped_ns) {
        probe_profile_add(to->profile, clipped_ns, to_ns, pct);
    }
    if (to->busy != NULL && pct > 0) {
        probe_union_add(to->busy, from_ns, to_ns);
    }
}

/* Each entry is the mean since the one before. A hole is filled as idle, because rings run dry on
 * idle devices, unless the ring was full: then entries were overwritten, and their time stays
 * unknown. */
static void add_entry(nvml_ring *ring, int64_t end_ns, uint32_t pct, bool overrun, const sink *to) {
    if (ring->has_previous && end_ns <= ring->previous_ns) {
        return; /* its clock was set: that time is known already */
    }
    int64_t from_ns = ring->has_previous ? ring->previous_ns : end_ns - ring->period_ns;
    if (ring->period_ns > 0 && end_ns - from_ns > gap_periods * ring->period_ns) {
        if (!overrun && !ring->broken) {
            add_reading(to, from_ns, end_ns - ring->period_ns, 0);
        }
        from_ns = end_ns - ring->period_ns;
    }
    add_reading(to, from_ns, end_ns, pct);
    ring->previous_ns = end_ns;
    ring->has_previous = true;
    ring->broken = false;
}

static nvml_return drain(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring,
                         int64_t now_ns, const sink *to) {
    int value_type = NVML_VALUE_UNSIGNED_INT;
    unsigned int count = reader->samples_size;
    nvml_return code = api->samples(reader->handle, type, ring->last_seen_us, &value_type, &count,
                                    reader->samples);
    if (code != NVML_OK || count == 0 || count > reader->samples_size) {
        return code == NVML_OK ? NVML_E_NOT_FOUND : code;
    }
    qsort(reader->samples, count, sizeof reader->samples[0],
          by_time); /* the order is not documented */
    int64_t newest_ns = (int64_t)reader->samples[count - 1].timestamp_us * 1000;
    int64_t late_ns = reader->driver_clock == CLOCK_MONOTONIC ? 0 : entry_late_ns;
    if (!reader->clock_known ||
        (newest_ns - reader->clock_offset_ns > now_ns + late_ns && !reader->stepped_back)) {
        nvml_learn_clock(reader, newest_ns, now_ns);
    }
    if (ring->period_ns == 0) {
        learn_period(ring, reader->samples, count);
    }
    code = NVML_E_NOT_FOUND;
    for (unsigned int i = 0; i < count; i++) {
        const nvml_sample *sample = &reader->samples[i];
        if (sample->timestamp_us <= ring->last_seen_us) {
            continue; /* a driver that repeats itself */
        }
        int64_t end_ns = (int64_t)sample->timestamp_us * 1000 - reader->clock_offset_ns;
        if (end_ns > now_ns) {
            break; /* it comes again; or it was stamped before the clock was set back */
        }
        add_entry(ring, end_ns, sample_pct(sample, value_type), i == 0 && count >= ring->capacity,
                  to);
        ring->last_seen_us = sample->timestamp_us;
        code = NVML_OK;
    }
    return code;
}

/* No new entry for several periods, or none ever: the ring is dry. One reading of the current rates
 * stands for the time since. */
static void fill_dry(nvml_reader *reader, const nvml_api *api, nvml_ring *ring, int64_t now_ns,
                     const sink *to) {
    nvml_utilization rates;
    int64_t period_ns = ring->period_ns > 0 ? ring->period_ns : unknown_period_ns;
    bool dry = now_ns - ring->previous_ns > (gap_periods + 1) * period_ns;
    if (!dry || api->utilization(reader->handle, &rates) != NVML_OK) {
        return;
    }
    uint32_t pct = ring == &reader->gpu_ring ? rates.gpu : rates.memory;
    int64_t until_ns = now_ns - period_ns; /* an entry for the last period may still come */
    if (!ring->broken) {                   /* else entries of that time were lost */
        add_reading(to, ring->previous_ns, until_ns, pct > 100 ? 100 : pct);
    }
    ring->previous_ns = until_ns;
    ring->has_previous = true;
    ring->broken = false;
}

static nvml_class poll_rates(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                             probe_union *u) {
    probe_gpu_device *out = reader->out;
    nvml_utilization rates;
    if (reader->rates_absent) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_return code = api->utilization(reader->handle, &rates);
    reader->rates_absent = nvml_classify(code) == NVML_FEATURE_ABSENT;
    if (code == NVML_OK) {
        out->utilization_source = PROBE_UTILIZATION_RATES;
        const sink gpu = {&out->gpu, &out->profile, u}, memory = {&out->memory, NULL, NULL};
        add_reading(&gpu, reader->previous_rates_ns, now_ns, rates.gpu > 100 ? 100 : rates.gpu);
        add_reading(&memory, reader->previous_rates_ns, now_ns,
                    rates.memory > 100 ? 100 : rates.memory);
        reader->previous_rates_ns = now_ns;
    }
    return nvml_classify(code);
}

nvml_class nvml_reader_utilization(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                                   probe_union *u, int64_t *known_ns) {
    probe_gpu_device *out = reader->out;
    *known_ns = now_ns;
    nvml_follow_clock(reader, now_ns);
    nvml_class result = NVML_FEATURE_ABSENT;
    if (reader->gpu_ring.supported) {
        const sink gpu = {&out->gpu, &out->profile, u};
        nvml_return code =
            drain(reader, api, NVML_SAMPLES_GPU_UTILIZATION, &reader->gpu_ring, now_ns, &gpu);
        result = nvml_classify(code);
        if (result == NVML_FEATURE_ABSENT) {
            reader->gpu_ring.supported = false;
        } else {
            out->utilization_source = PROBE_UTILIZATION_SAMPLES;
        }
        if (code == NVML_E_NOT_FOUND) {
            fill_dry(reader, api, &reader->gpu_ring, now_ns, &gpu);
        }
        *known_ns = reader->gpu_ring.previous_ns;
    }
    if (!reader->gpu_ring.supported) {
        *known_ns = now_ns;
        return poll_rates(reader, api, now_ns, u);
    }
    if (reader->memory_ring.supported && result != NVML_DEVICE_GONE &&
        result != NVML_LIBRARY_GONE) {
        const sink memory = {&out->memory, NULL, NULL};
        nvml_return code = drain(reader, api, NVML_SAMPLES_MEMORY_UTILIZATION, &reader->memory_ring,
                                 now_ns, &memory);
        reader->memory_ring.supported = nvml_classify(code) != NVML_FEATURE_ABSENT;
        if (code == NVML_E_NOT_FOUND) {
            fill_dry(reader, api, &reader->memory_ring, now_ns, &memory);
        }
    }
    return result;
}

nvml_class nvml_reader_health(nvml_reader *reader, const nvml_api *api, bool energy) {
    probe_gpu_device *out = reader->out;
    const unsigned long long lowering = NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_SLOWDOWN |
                                        NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |
                                        NVML_REASON_HW_POWER_BRAKE;
    unsigned long long value = 0;
    nvml_return code = NVML_E_NOT_SUPPORTED;
    if (api->throttle != NULL && (code = api->throttle(reader->handle, &value)) == NVML_OK) {
        out->throttle_valid = true;
        out->throttle_bits |= value & lowering;
    }
    if (energy && reader->energy_known && api->energy(reader->handle, &value) == NVML_OK &&
        value >= reader->energy_start_mj) {
        out->energy_valid = true;
        out->energy_mj = value - reader->energy_start_mj;
    }
    return nvml_classify(code);
}
