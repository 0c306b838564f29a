#include "clock.h"

#include <time.h>

/* clock_gettime cannot fail for these clocks on Linux; 0 would be the honest value if it did.
 */
static int64_t read_ns(clockid_t id) {
    struct timespec t = {0};
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * PROBE_NS_PER_S + t.tv_nsec;
}

int64_t probe_clock_mono_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

int64_t probe_clock_wall_ms(void) {
    return read_ns(CLOCK_REALTIME) / PROBE_NS_PER_MS;
}

int64_t probe_clock_thread_ns(void) {
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
