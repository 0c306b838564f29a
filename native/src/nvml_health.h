/* How a device fares: energy, power limit, temperature, clocks and why they were lowered, memory
 * errors. What the driver cannot tell of a device (NVML_FEATURE_ABSENT) is asked once. No answer
 * here counts as the loss of a device: the memory that is read each interval tells that. */
#ifndef PROBE_NVML_HEALTH_H
#define PROBE_NVML_HEALTH_H

#include "nvml_reader.h"

/* At the start: the counters, to which those of the end are compared, and the limit. */
void nvml_health_begin(nvml_reader *reader, const nvml_api *api, int64_t now_ns);

/* Now and then: temperature, throttle reasons and, of a busy device, its clock. Such reads of a
 * device's registers can stall the machine for milliseconds, so a device that has not been busy
 * since the last call is passed over unless `always`. */
void nvml_health_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, bool always);

/* Some drivers read 100 % for ever after a suspend. Work without any memory is none: a context
 * alone takes more than 64 MiB. Of version 1 of the memory, which counts the driver's own, nothing
 * follows.
 */
bool nvml_health_is_stuck(const probe_gpu_device *device);

/* At the end: the counters again. */
void nvml_health_end(nvml_reader *reader, const nvml_api *api, int64_t now_ns);

#endif
