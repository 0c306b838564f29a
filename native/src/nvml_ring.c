#include "nvml_ring.h"

#include "clock.h"
#include "nvml_clock.h"
#include "nvml_sink.h"
#include <stdlib.h>

/* A gap of more than this many periods between two driver samples is a hole in the history, not a
 * late sample. */
static const int64_t gap_periods = 3;

/* For a ring without entries: the usual spacing, rounded up. */
static const int64_t unknown_period_ns = 250 * PROBE_NS_PER_MS;

/* An entry may be newer than "now", by the time that the driver takes to answer. */
static const int64_t entry_late_ns = PROBE_NS_PER_S;

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

void nvml_rings_open(nvml_reader *reader, const nvml_api *api) {
    open_ring(reader, api, NVML_SAMPLES_GPU_UTILIZATION, &reader->gpu_ring);
    open_ring(reader, api, NVML_SAMPLES_MEMORY_UTILIZATION, &reader->memory_ring);
}

static int by_time(const void *a, const void *b) {
    unsigned long long x = ((const nvml_sample *)a)->timestamp_us,
                       y = ((const nvml_sample *)b)->timestamp_us;
    return (x > y) - (x < y);
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

/* Each entry is the mean since the one before. A hole is filled as idle, because rings run dry on
 * idle devices, unless the ring was full: then entries were overwritten, and their time stays
 * unknown. */
static void add_entry(nvml_ring *ring, int64_t end_ns, uint32_t pct, bool overrun,
                      const nvml_sink *to) {
    if (ring->has_previous && end_ns <= ring->previous_ns) {
        return; /* its clock was set: that time is known already */
    }
    int64_t from_ns = ring->has_previous ? ring->previous_ns : end_ns - ring->period_ns;
    if (ring->period_ns > 0 && end_ns - from_ns > gap_periods * ring->period_ns) {
        if (!overrun && !ring->broken) {
            nvml_sink_add(to, from_ns, end_ns - ring->period_ns, 0);
        }
        from_ns = end_ns - ring->period_ns;
    }
    nvml_sink_add(to, from_ns, end_ns, pct);
    ring->previous_ns = end_ns;
    ring->has_previous = true;
    ring->broken = false;
}

static nvml_return drain(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring,
                         int64_t now_ns, const nvml_sink *to) {
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

/* Both rings of an idle device are dry: they share one call. */
static bool ask_rates(nvml_reader *reader, const nvml_api *api) {
    if (!reader->rates.asked) {
        reader->rates.asked = true;
        reader->rates.code = api->utilization(reader->handle, &reader->rates.pct);
    }
    return reader->rates.code == NVML_OK;
}

/* No new entry for several periods, or none ever: the ring is dry. One reading of the current rates
 * stands for the time since. */
static void fill_dry(nvml_reader *reader, const nvml_api *api, nvml_ring *ring, int64_t now_ns,
                     const nvml_sink *to) {
    int64_t period_ns = ring->period_ns > 0 ? ring->period_ns : unknown_period_ns;
    bool dry = now_ns - ring->previous_ns > (gap_periods + 1) * period_ns;
    if (!dry || !ask_rates(reader, api)) {
        return;
    }
    uint32_t pct = ring == &reader->gpu_ring ? reader->rates.pct.gpu : reader->rates.pct.memory;
    int64_t until_ns = now_ns - period_ns; /* an entry for the last period may still come */
    if (!ring->broken) {                   /* else entries of that time were lost */
        nvml_sink_add(to, ring->previous_ns, until_ns, pct);
    }
    ring->previous_ns = until_ns;
    ring->has_previous = true;
    ring->broken = false;
}

/* Reads one ring, and the rates of the moment where it is dry. */
static nvml_class read_ring(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring,
                            int64_t now_ns, const nvml_sink *to) {
    nvml_return code = drain(reader, api, type, ring, now_ns, to);
    ring->supported = nvml_classify(code) != NVML_FEATURE_ABSENT;
    if (code == NVML_E_NOT_FOUND) {
        fill_dry(reader, api, ring, now_ns, to);
    }
    return nvml_classify(code);
}

nvml_class nvml_rings_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, probe_union *u,
                           int64_t *known_ns) {
    probe_gpu_device *out = reader->out;
    const nvml_sink gpu = nvml_sink_of_gpu(out, u), memory = nvml_sink_of_memory(out);
    reader->rates.asked = false;
    if (!reader->gpu_ring.supported) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_class result =
        read_ring(reader, api, NVML_SAMPLES_GPU_UTILIZATION, &reader->gpu_ring, now_ns, &gpu);
    if (result == NVML_FEATURE_ABSENT) {
        return result;
    }
    out->utilization_source = PROBE_UTILIZATION_SAMPLES;
    *known_ns = reader->gpu_ring.previous_ns;
    if (reader->memory_ring.supported && result != NVML_DEVICE_GONE &&
        result != NVML_LIBRARY_GONE) {
        (void)read_ring(reader, api, NVML_SAMPLES_MEMORY_UTILIZATION, &reader->memory_ring, now_ns,
                        &memory);
    }
    return result;
}
