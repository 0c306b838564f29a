/* Time-weighted sums of what a device reported. Pure arithmetic: times are ns since the start of
 * the task, handed in by the caller. */
#ifndef PROBE_INTEGRAL_H
#define PROBE_INTEGRAL_H

#include "profile.h"
#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128
    probe_u128; /* bytes x ns of a long task does not fit 64 bits */

/* A utilization: each reading is the mean of an interval. */
typedef struct {
    int64_t covered_ns; /* sum of the intervals */
    int64_t busy_ns;    /* sum of those with a reading above 0 */
    uint64_t pct_ns;    /* sum of percent x ns */
    uint32_t peak_pct;  /* rounded; of a reading above 0 at least 1 */
    uint32_t readings;
} probe_utilization;

/* Adds the reading of [from_ns, to_ns), the part of it that lies after 0. */
void probe_utilization_add(probe_utilization *sum, int64_t from_ns, int64_t to_ns, double pct);

/* Mean in percent; only meaningful when covered_ns > 0. */
double probe_utilization_mean(const probe_utilization *sum);

/* A gauge in bytes, which runs straight from each reading to the next one. */
typedef struct {
    bool any;
    int64_t last_ns;
    int64_t held_ns;    /* between readings, without holes */
    int64_t resumed_ns; /* where the last hole ended; 0: there was none */
    uint64_t last_bytes;
    uint64_t peak_bytes;
    probe_u128 twice_byte_ns; /* sums of two readings times the time between them */
} probe_gauge;

void probe_gauge_add(probe_gauge *gauge, int64_t now_ns, uint64_t bytes);

/* The first reading after a hole: what happened in it is not known, and not in the mean. */
void probe_gauge_resume(probe_gauge *gauge, int64_t now_ns, uint64_t bytes);

/* Integer mean over the time held, from the first reading to the last one; of one reading, itself.
 */
uint64_t probe_gauge_mean(const probe_gauge *gauge);

/* The union of busy intervals of several devices, which arrive device by device. */
enum { PROBE_UNION_PENDING = 256 };
typedef struct {
    int64_t settled_ns; /* length of everything before the pending intervals */
    int count;
    int64_t from_ns[PROBE_UNION_PENDING], to_ns[PROBE_UNION_PENDING]; /* disjoint, ascending */
} probe_union;

void probe_union_add(probe_union *u, int64_t from_ns, int64_t to_ns);

/* Promises that no interval before now_ns will be added any more, which keeps the pending ones few.
 */
void probe_union_settle(probe_union *u, int64_t now_ns);

int64_t probe_union_length(const probe_union *u);

#endif
