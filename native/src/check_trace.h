/* What --check finds out about the place of the trace. */
#ifndef PROBE_CHECK_TRACE_H
#define PROBE_CHECK_TRACE_H

#include "check.h"

/* The file that a wrapper would write here, by its own decision, and whether it can. Leaves nothing
 * behind. */
void probe_check_trace(probe_check_list *list, const probe_check_config *config);

#endif
