/* The clock that a driver stamps its samples with, and its steps. */
#ifndef PROBE_NVML_CLOCK_H
#define PROBE_NVML_CLOCK_H

#include "nvml_reader.h"
#include <stdbool.h>

int64_t nvml_read_clock(clockid_t id);

/* Driver time is microseconds since 1970 on most drivers, since boot on others; anything else is
 * taken as relative to its newest entry, which cannot be in the future. */
void nvml_learn_clock(nvml_reader *reader, int64_t newest_ns, int64_t now_ns);

/* A drain of ring has brought new entries, the newest one at newest_ns. When they keep coming at
 * one age, they are new and the driver's clock is behind. True: that was found now, and the rings
 * are to be asked again. */
bool nvml_learn_lag(nvml_reader *reader, const nvml_ring *ring, int64_t newest_ns, int64_t now_ns);

/* Wall clocks are set, and boot time leaps over a suspension: entries from then on are stamped
 * anew. */
void nvml_follow_clock(nvml_reader *reader, int64_t now_ns);

#endif
