#ifndef PROBE_CLOCK_H
#define PROBE_CLOCK_H

#include <stdint.h>

#define PROBE_NS_PER_MS 1000000LL
#define PROBE_NS_PER_S 1000000000LL

/* CLOCK_MONOTONIC, ns. */
int64_t probe_clock_mono_ns(void);

/* Wall clock, ms since 1970. */
int64_t probe_clock_wall_ms(void);

/* CPU time of the calling thread, ns. */
int64_t probe_clock_thread_ns(void);

#endif
