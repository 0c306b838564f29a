/* Choosing among the names of a place, and replacing only what may be replaced. */
#ifndef PROBE_TRACE_CLAIM_H
#define PROBE_TRACE_CLAIM_H

#include "trace_place.h"
#include <stdbool.h>

/* Takes the first name, from the present one on, that is free or whose writer is gone. False: there
 * is none, or the place is nested. */
bool probe_trace_claim_choose(probe_trace_place *place);

/* Writes the trace under the present name, or under the next one if another writer has come first.
 * 0, or errno. */
int probe_trace_claim_write(probe_trace_place *place, const char *text, size_t length);

#endif
