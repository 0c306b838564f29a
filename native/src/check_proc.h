/* What --check finds out about /proc. */
#ifndef PROBE_CHECK_PROC_H
#define PROBE_CHECK_PROC_H

#include "check.h"

void probe_check_proc(probe_check_list *list, const probe_check_config *config);

#endif
