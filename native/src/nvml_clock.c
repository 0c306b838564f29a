#include "nvml_clock.h"

#include "clock.h"
#include <stdlib.h>

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
}

/* What a clock shows minus the time since the start of the task. */
static int64_t lead(const nvml_reader *reader, clockid_t id) {
    return reader->clock_ns(id) - (reader->clock_ns(CLOCK_MONOTONIC) - reader->start_ns);
}

void nvml_learn_clock(nvml_reader *reader, int64_t newest_ns, int64_t now_ns) {
    const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_BOOTTIME};
    int64_t offset_ns = newest_ns - now_ns;
    reader->driver_clock = CLOCK_MONOTONIC;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        int64_t lead_ns = lead(reader, clocks[i]);
        int64_t ahead_ns = offset_ns - lead_ns;
        if (ahead_ns > -60 * PROBE_NS_PER_S && ahead_ns <= PROBE_NS_PER_S) {
            reader->driver_clock = clocks[i];
            offset_ns = lead_ns;
            break;
        }
    }
    set_offset(reader, offset_ns);
}

void nvml_follow_clock(nvml_reader *reader, int64_t now_ns) {
    reader->start_ns = reader->clock_ns(CLOCK_MONOTONIC) - now_ns;
    if (reader->clock_known && reader->driver_clock != CLOCK_MONOTONIC) {
        int64_t offset_ns = lead(reader, reader->driver_clock);
        if (llabs(offset_ns - reader->clock_offset_ns) > 50 * PROBE_NS_PER_MS) {
            set_offset(reader, offset_ns);
        }
    }
}
