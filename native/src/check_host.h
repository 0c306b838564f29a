/* What --check finds out without a GPU: the trace's place, /proc, the control group. */
#ifndef PROBE_CHECK_HOST_H
#define PROBE_CHECK_HOST_H

#include "check.h"

/* Whether a trace can be written; leaves nothing behind. */
void probe_check_trace_place(probe_check_list *list, const probe_check_config *config);

void probe_check_proc(probe_check_list *list, const probe_check_config *config);

void probe_check_cgroup(probe_check_list *list, const probe_check_config *config);

#endif
