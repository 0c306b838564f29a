/* From a measurement to its files. */
#ifndef PROBE_PUBLISH_H
#define PROBE_PUBLISH_H

#include "measurement.h"

/* Fills the trace with the figures as of now_ns (CLOCK_MONOTONIC) and writes it, and the timeline
 * beside it. */
void probe_publish(probe_measurement *m, int64_t now_ns);

/* The final trace has found no place: lets it go to another one, which takes a bounded time too. */
void probe_publish_rescue(probe_measurement *m);

#endif
