#include "mock_clock.h"

#include "series.h"

#include <stdatomic.h>

/* T0 in the clocks of virtual time: a host that was up for 10^6 s, and suspended for 5000 s of
 * that. Far apart, so that no clock is taken for another. */
static const int64_t virtual_monotonic_ns = 1000000 * MOCK_NS_PER_S;
static const int64_t virtual_boottime_ns = 1005000 * MOCK_NS_PER_S;
static const int64_t virtual_realtime_ns = 1800000000 * MOCK_NS_PER_S;

/* The time of a process is state by nature; atomic, because any thread may call a driver. */
static atomic_bool is_virtual;
static _Atomic int64_t virtual_ns; /* since T0 */

static int64_t t0_of(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
        return virtual_realtime_ns;
    case CLOCK_BOOTTIME:
        return virtual_boottime_ns;
    default:
        return virtual_monotonic_ns;
    }
}

int64_t mock_clock_ns(clockid_t clock) {
    struct timespec now;
    if (mock_clock_is_virtual()) {
        return t0_of(clock) + atomic_load(&virtual_ns);
    }
    (void)clock_gettime(clock, &now); /* cannot fail for the clocks used here */
    return now.tv_sec * MOCK_NS_PER_S + now.tv_nsec;
}

void mock_clock_set(int64_t t_ns) {
    atomic_store(&virtual_ns, t_ns);
    atomic_store(&is_virtual, true);
}

bool mock_clock_is_virtual(void) {
    return atomic_load(&is_virtual);
}

int64_t mock_clock_virtual_t0_ns(void) {
    return virtual_monotonic_ns;
}

void mock_clock_pass(int64_t duration_us) {
    if (mock_clock_is_virtual()) {
        (void)atomic_fetch_add(&virtual_ns, duration_us * 1000);
        return;
    }
    struct timespec rest = {.tv_sec = duration_us / 1000000,
                            .tv_nsec = duration_us % 1000000 * 1000};
    while (nanosleep(&rest, &rest) != 0) {
    }
}
