/* Reads one device: what does not change once, and utilization through the ladder of sources: the
 * driver's own ring of samples, else GPM counters, else polled rates, else nothing. */
#ifndef PROBE_NVML_DEVICE_H
#define PROBE_NVML_DEVICE_H

#include "nvml_reader.h"

/* Prepares the reader, reads what does not change (name, uuid) and the start value of the energy
 * counter. out: zeroed, in the snapshot. */
void nvml_reader_open(nvml_reader *reader, const nvml_api *api, nvml_device handle, int index,
                      probe_gpu_device *out);

/* Utilization up to now_ns; busy intervals also go to u. Returns up to when the device's history is
 * known (to settle u) in known_ns. */
nvml_class nvml_reader_utilization(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                                   probe_union *u, int64_t *known_ns);

#endif
