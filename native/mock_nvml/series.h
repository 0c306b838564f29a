/* A quantity over time, from a scenario file, in exact integer arithmetic: nanoseconds since T0 and
 * millionths of the unit. */
#ifndef MOCK_SERIES_H
#define MOCK_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define MOCK_MICRO 1000000LL
#define MOCK_NS_PER_S 1000000000LL
/* Bounds that keep the sums below within 128 bits. */
#define MOCK_TIME_MAX_S 100000LL
#define MOCK_INTEGRATED_MAX 10000LL /* percent and watts */

__extension__ typedef __int128 mock_int128;

typedef struct {
    int64_t t_ns, value_micro;
} mock_point;

/* The value is 0 before the first point and holds after the last. In between it holds from point to
 * point, or, when linear, runs straight from one to the next. Times never decrease; at equal times
 * the later point counts. */
typedef struct {
    const mock_point *points; /* owned by the scenario */
    int64_t count;
    bool linear;
} mock_series;

/* Value at t_ns in millionths, rounded down. */
int64_t mock_series_at(const mock_series *series, int64_t t_ns);

/* Integral from a_ns to b_ns (a <= b) in millionths times ns, rounded down. Exact, but that a sum
 * of slopes that misses a whole number by less than 2^-20 may be taken as whole. */
mock_int128 mock_series_integral(const mock_series *series, int64_t a_ns, int64_t b_ns);

#endif
