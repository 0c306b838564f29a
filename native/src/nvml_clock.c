#include "nvml_clock.h"

#include "clock.h"
#include <stdlib.h>

/* The newest entry of a ring may be this old: of a job of before. */
static const int64_t age_max_ns = 86400 * PROBE_NS_PER_S;

/* Entries that are older than this when they come are old, or of a clock that is behind. */
static const int64_t lag_min_ns = PROBE_NS_PER_S;

/* So many drains in a row with entries of one age are no chance. */
enum { LAG_DRAINS = 3 };

int64_t nvml_read_clock(clockid_t id) {
    struct timespec t = {0};
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * PROBE_NS_PER_S + t.tv_nsec;
}

/* A jump of the driver's clock leaves a hole in what is known; one back makes stamps repeat. */
static void set_offset(nvml_reader *reader, int64_t offset_ns) {
    nvml_ring *rings[] = {&reader->gpu_ring, &reader->memory_ring};
    int64_t back_ns = reader->clock_known ? reader->clock_offset_ns - offset_ns : 0;
    for (size_t i = 0; i < 2 && back_ns != 0; i++) {
        unsigned long long back_us = back_ns > 0 ? (unsigned long long)back_ns / 1000 : 0;
        rings[i]->last_seen_us -= back_us < rings[i]->last_seen_us ? back_us : 0;
        rings[i]->broken = rings[i]->broken || llabs(back_ns) > 250 * PROBE_NS_PER_MS;
    }
    reader->stepped_back = reader->stepped_back || back_ns > 0;
    reader->clock_offset_ns = offset_ns;
    reader->clock_known = true;
    reader->lag = (nvml_lag){0};
}

/* What a clock shows minus the time since the start of the task. */
static int64_t lead(const nvml_reader *reader, clockid_t id) {
    return reader->clock_ns(id) - (reader->clock_ns(CLOCK_MONOTONIC) - reader->start_ns);
}

void nvml_learn_clock(nvml_reader *reader, int64_t newest_ns, int64_t now_ns) {
    const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_BOOTTIME};
    int64_t offset_ns = newest_ns - now_ns;
    reader->driver_clock = CLOCK_MONOTONIC;
    reader->clock_lag_ns = 0;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        int64_t lead_ns = lead(reader, clocks[i]);
        int64_t ahead_ns = offset_ns - lead_ns;
        if (ahead_ns > -age_max_ns && ahead_ns <= PROBE_NS_PER_S) {
            reader->driver_clock = clocks[i];
            offset_ns = lead_ns;
            break;
        }
    }
    set_offset(reader, offset_ns);
}

/* Entries come again, with their right times. */
static void set_lag(nvml_reader *reader, int64_t lag_ns) {
    nvml_ring *rings[] = {&reader->gpu_ring, &reader->memory_ring};
    for (size_t i = 0; i < 2; i++) {
        rings[i]->last_seen_us = 0;
        rings[i]->has_previous = rings[i]->has_previous && rings[i]->previous_ns > 0;
        rings[i]->previous_ns = rings[i]->has_previous ? rings[i]->previous_ns : 0;
        rings[i]->broken = true;
    }
    reader->clock_lag_ns += lag_ns;
    reader->clock_offset_ns -= lag_ns;
    reader->lag = (nvml_lag){0};
}

bool nvml_learn_lag(nvml_reader *reader, const nvml_ring *ring, int64_t newest_ns, int64_t now_ns) {
    nvml_lag *lag = &reader->lag;
    int64_t age_ns = now_ns - (newest_ns - reader->clock_offset_ns);
    lag->fresh = lag->fresh || age_ns < lag_min_ns || age_ns < 2 * ring->period_ns;
    if (reader->driver_clock == CLOCK_MONOTONIC || lag->fresh) {
        return false; /* a clock of the driver's own is set by its newest entry */
    }
    int64_t slack_ns = ring->period_ns + 50 * PROBE_NS_PER_MS;
    bool alike = lag->drains > 0 && llabs(age_ns - lag->age_ns) <= slack_ns;
    lag->age_ns = !alike || age_ns < lag->age_ns ? age_ns : lag->age_ns;
    lag->drains = alike ? lag->drains + 1 : 1;
    bool found = lag->drains == LAG_DRAINS;
    if (found) {
        set_lag(reader, lag->age_ns);
    }
    return found;
}

void nvml_follow_clock(nvml_reader *reader, int64_t now_ns) {
    reader->start_ns = reader->clock_ns(CLOCK_MONOTONIC) - now_ns;
    if (reader->clock_known && reader->driver_clock != CLOCK_MONOTONIC) {
        int64_t offset_ns = lead(reader, reader->driver_clock) - reader->clock_lag_ns;
        if (llabs(offset_ns - reader->clock_offset_ns) > 50 * PROBE_NS_PER_MS) {
            set_offset(reader, offset_ns);
        }
    }
}
