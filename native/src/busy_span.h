/* When a device was busy for the first time, and for how long it was not. Pure arithmetic: times
 * are ns since the start of the task, handed in by the caller. */
#ifndef PROBE_BUSY_SPAN_H
#define PROBE_BUSY_SPAN_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing is known yet. */
typedef struct {
    bool any_busy;
    int64_t first_busy_ns;   /* where the first busy reading begins; valid with any_busy */
    int64_t longest_idle_ns; /* longest stretch that is known to be idle without a break */
    int64_t known_ns;        /* end of the newest reading */
    int64_t idle_since_ns;   /* begin of the stretch that lasts to known_ns; known_ns: it is busy */
} probe_busy_span;

/* Adds the reading of [from_ns, to_ns), the part of it that lies after 0. Readings come in order. A
 * stretch of unknown time between two of them ends an idle stretch: what the device did meanwhile
 * nobody knows. */
void probe_busy_span_add(probe_busy_span *span, int64_t from_ns, int64_t to_ns, bool busy);

/* The newest reading is a busy one. */
bool probe_busy_span_is_busy(const probe_busy_span *span);

#endif
