/* The driver's accounting mode, where an administrator has switched it on: the exact high-water
 * mark of a process's device memory, which no poll can see. */
#ifndef PROBE_NVML_ACCOUNTING_H
#define PROBE_NVML_ACCOUNTING_H

#include "nvml_sharing.h"

/* At the end of the task: raises the peak of the device's own memory to that of the only process of
 * the task's that used it, also one that no poll has seen. start_us: of the task, wall clock;
 * a process that began to use the device before it is left out. */
void nvml_accounting_read(const nvml_sharing *sharing, nvml_users *users, const nvml_api *api,
                          int64_t start_us, probe_gpu_device *out);

#endif
