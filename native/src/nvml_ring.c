#include "nvml_ring.h"

#include "clock.h"
#include "nvml_clock.h"
#include "nvml_rates.h"
#include "nvml_sink.h"
#include <stdlib.h>

/* A gap of more than this many periods between two driver samples is a hole in the history, not a
 * late sample. */
static const int64_t gap_periods = 3;

/* Drivers sample six times a second to once, as NVML documents; what is longer than any is not a
 * period but a pause. */
static const int64_t period_shortest_ns = PROBE_NS_PER_S / 6,
                     period_longest_ns = 10 * PROBE_NS_PER_S;

/* For a ring whose period is not known: when to take it for dry. */
static const int64_t unknown_period_ns = 250 * PROBE_NS_PER_MS;

/* An entry may be newer than "now", by the time that the driver takes to answer. */
static const int64_t entry_late_ns = PROBE_NS_PER_S;

/* A ring that holds less than this loses most of what is between two drains. */
static const int64_t history_min_ns = 2 * PROBE_NS_PER_S;

/* How often in a row a ring may be asked before its time, in vain. */
enum { WAKES_MAX = 3 };

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
        value = sample->value.ull;
        break;
    case NVML_VALUE_SIGNED_LONG_LONG:
        value = sample->value.sll > 0 ? (unsigned long long)sample->value.sll : 0;
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
    if (n == 0) {
        return;
    }
    qsort(spacing, n, sizeof spacing[0], by_value);
    int64_t median_ns = spacing[n / 2]; /* of a dry ring it may be a pause: the least is right */
    if (median_ns > 0 && median_ns <= period_longest_ns &&
        (ring->period_ns == 0 || median_ns < ring->period_ns)) {
        ring->period_ns = median_ns;
    }
}

/* Each entry is the mean since the one before. A hole is filled as idle, because rings run dry on
 * idle devices, unless entries were lost: then their time stays unknown. */
static void add_entry(nvml_ring *ring, int64_t end_ns, uint32_t pct, bool lost,
                      const nvml_sink *to) {
    if (ring->has_previous && end_ns <= ring->previous_ns) {
        return; /* its clock was set: that time is known already */
    }
    int64_t period_ns = ring->period_ns > 0 ? ring->period_ns : period_shortest_ns;
    int64_t begin_ns = end_ns - period_ns;
    int64_t from_ns = ring->has_previous ? ring->previous_ns : begin_ns;
    if (begin_ns > from_ns && (ring->idle || end_ns - from_ns > gap_periods * period_ns)) {
        if (!lost && !ring->broken && ring->period_ns > 0) {
            nvml_sink_add(to, from_ns, begin_ns, 0);
        }
        from_ns = begin_ns;
    }
    nvml_sink_add(to, from_ns, end_ns, pct);
    ring->previous_ns = end_ns;
    ring->has_previous = true;
    ring->broken = ring->idle = ring->contradicted = false;
}

/* Asks for what is new, and for the last entry again: when the ring does not have it any more, and
 * gives as many entries as it ever did, others were overwritten too. Sorted: the driver's order is
 * not documented. */
static nvml_return ask_ring(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring,
                            int *value_type, unsigned int *count, bool *lost) {
    unsigned long long seen_us = ring->last_seen_us;
    *count = reader->samples_size;
    nvml_return code = api->samples(reader->handle, type, seen_us > 0 ? seen_us - 1 : 0, value_type,
                                    count, reader->samples);
    if (code == NVML_E_NO_DATA ||
        (code == NVML_OK && (*count == 0 || *count > reader->samples_size))) {
        return NVML_E_NOT_FOUND;
    }
    if (code == NVML_OK) {
        qsort(reader->samples, *count, sizeof reader->samples[0], by_time);
        *lost = reader->samples[0].timestamp_us > seen_us &&
                *count >= (seen_us > 0 ? ring->depth : ring->capacity);
        ring->depth = *count > ring->depth ? *count : ring->depth;
        learn_period(ring, reader->samples, *count);
    }
    return code;
}

/* NVML_E_NOT_FOUND: nothing new. NVML_E_INSUFFICIENT_SIZE: most of it was lost. */
static nvml_return drain(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring,
                         int64_t now_ns, const nvml_sink *to) {
    int value_type = NVML_VALUE_UNSIGNED_INT;
    unsigned int count = 0;
    bool lost = false;
    nvml_return code = ask_ring(reader, api, type, ring, &value_type, &count, &lost);
    if (code != NVML_OK) {
        return code;
    }
    int64_t newest_ns = (int64_t)reader->samples[count - 1].timestamp_us * 1000;
    int64_t late_ns = reader->driver_clock == CLOCK_MONOTONIC ? 0 : entry_late_ns;
    if (!reader->clock_known ||
        (newest_ns - reader->clock_offset_ns > now_ns + late_ns && !reader->stepped_back)) {
        nvml_learn_clock(reader, newest_ns, now_ns);
    }
    if (reader->samples[count - 1].timestamp_us > ring->last_seen_us &&
        nvml_learn_lag(reader, ring, newest_ns, now_ns) &&
        (code = ask_ring(reader, api, type, ring, &value_type, &count, &lost)) != NVML_OK) {
        return code;
    }
    code = NVML_E_NOT_FOUND;
    bool first = true;
    for (unsigned int i = 0; i < count; i++) {
        const nvml_sample *sample = &reader->samples[i];
        if (sample->timestamp_us <= ring->last_seen_us) {
            continue;
        }
        int64_t end_ns = (int64_t)sample->timestamp_us * 1000 - reader->clock_offset_ns;
        if (end_ns > now_ns) {
            break; /* it comes again; or it was stamped before the clock was set back */
        }
        add_entry(ring, end_ns, sample_pct(sample, value_type), first && lost, to);
        first = false;
        ring->last_seen_us = sample->timestamp_us;
        code = lost && ring->depth * ring->period_ns < history_min_ns ? NVML_E_INSUFFICIENT_SIZE
                                                                      : NVML_OK;
    }
    return code;
}

/* No new entry: once that lasts, the ring is dry. Rings run dry on idle devices: the time since is
 * filled as idle when the device is idle now and the ring has told something before. Everything
 * else contradicts the ring, and one reading of the moment cannot stand for the time since: it is
 * given to the next rung. NVML_OK: the ring is as it should be. */
static nvml_return fill_dry(nvml_reader *reader, const nvml_api *api, nvml_ring *ring,
                            int64_t now_ns, const nvml_sink *to) {
    int64_t period_ns = ring->period_ns > 0 ? ring->period_ns : unknown_period_ns;
    int64_t until_ns = now_ns - period_ns; /* an entry for the last period may still come */
    bool early = now_ns - ring->previous_ns <= (gap_periods + 1) * period_ns;
    if (early && reader->ring_rung.rest_ns == 0) { /* else it is dry still */
        return NVML_OK;
    }
    if (nvml_rates_ask(reader, api) != NVML_OK) {
        return ring->last_seen_us > 0 ? NVML_OK : NVML_E_NOT_FOUND;
    }
    uint32_t pct = ring == &reader->gpu_ring ? reader->rates.pct.gpu : reader->rates.pct.memory;
    ring->idle = pct == 0;
    ring->contradicted = ring->contradicted || !ring->idle;
    if (ring->contradicted || ring->last_seen_us == 0) {
        return NVML_E_NOT_FOUND;
    }
    if (!ring->broken) { /* else entries of that time were lost */
        nvml_sink_add(to, ring->previous_ns, until_ns, 0);
    }
    ring->previous_ns = until_ns;
    ring->has_previous = true;
    ring->broken = false;
    return NVML_OK;
}

/* What other rungs have told meanwhile is not told again. */
static void skip_told(const nvml_reader *reader, nvml_ring *ring) {
    if (reader->previous_rates_ns > ring->previous_ns) {
        ring->previous_ns = reader->previous_rates_ns;
        ring->has_previous = true;
        ring->idle = reader->previous_rate_pct == 0;
    }
}

/* Reads one ring. told: whether it told anything. */
static nvml_return read_ring(nvml_reader *reader, const nvml_api *api, int type, nvml_ring *ring,
                             int64_t now_ns, const nvml_sink *to, bool *told) {
    skip_told(reader, ring);
    int64_t before_ns = ring->previous_ns;
    nvml_return code = drain(reader, api, type, ring, now_ns, to);
    if (code == NVML_E_NOT_FOUND) {
        code = fill_dry(reader, api, ring, now_ns, to);
    }
    *told = ring->previous_ns > before_ns;
    return code;
}

bool nvml_rings_wake(nvml_reader *reader) {
    bool wakes =
        reader->gpu_ring.idle && reader->ring_wakes < WAKES_MAX && !reader->ring_rung.absent;
    if (wakes) {
        reader->ring_wakes++;
        reader->ring_rung.rests_until_ns = 0;
    }
    return wakes;
}

nvml_class nvml_rings_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, probe_union *u,
                           int64_t *known_ns) {
    probe_gpu_device *out = reader->out;
    const nvml_sink gpu = nvml_sink_of_gpu(out, u), memory = nvml_sink_of_memory(out);
    bool told = false, ignored = false;
    if (!reader->gpu_ring.supported || nvml_rung_rests(&reader->ring_rung, now_ns)) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_return code = read_ring(reader, api, NVML_SAMPLES_GPU_UTILIZATION, &reader->gpu_ring,
                                 now_ns, &gpu, &told);
    if (code == NVML_OK && !told) {
        *known_ns = reader->gpu_ring.previous_ns;
        return NVML_TRANSIENT; /* no news yet: that proves nothing */
    }
    nvml_class result = code == NVML_E_NOT_FOUND
                            ? nvml_rung_rest(&reader->ring_rung, now_ns)
                            : nvml_rung_judge(&reader->ring_rung, code, now_ns);
    if (told) {
        out->utilization_source = PROBE_UTILIZATION_SAMPLES;
        reader->ring_wakes = 0;
    }
    if (result == NVML_FEATURE_ABSENT) {
        return result;
    }
    *known_ns = reader->gpu_ring.previous_ns;
    if (reader->memory_ring.supported && (result == NVML_GOOD || result == NVML_TRANSIENT)) {
        code = read_ring(reader, api, NVML_SAMPLES_MEMORY_UTILIZATION, &reader->memory_ring, now_ns,
                         &memory, &ignored);
        reader->memory_ring.supported =
            code != NVML_E_NO_PERMISSION && nvml_classify(code) != NVML_FEATURE_ABSENT;
    }
    return result;
}
