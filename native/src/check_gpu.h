/* What --check finds out about GPUs: with the helper of a real measurement. */
#ifndef PROBE_CHECK_GPU_H
#define PROBE_CHECK_GPU_H

#include "check.h"

void probe_check_gpu(probe_check_list *list, const probe_check_config *config);

#endif
