/* What time it is: the machine's, or, once it was set, a time of the test's own. */
#ifndef MOCK_CLOCK_H
#define MOCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, CLOCK_REALTIME or CLOCK_BOOTTIME in ns. In virtual time T0 is always the same
 * instant of each, and they go on together. */
int64_t mock_clock_ns(clockid_t clock);

/* From now on time is virtual, and t_ns after T0 until it is set again. */
void mock_clock_set(int64_t t_ns);

bool mock_clock_is_virtual(void);

/* T0 of virtual time, CLOCK_MONOTONIC. */
int64_t mock_clock_virtual_t0_ns(void);

/* Lets time pass: sleeps, or moves virtual time on. */
void mock_clock_pass(int64_t duration_us);

#endif
