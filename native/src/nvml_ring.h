/* The driver's own ring of utilization samples, the upper rung of the ladder: a slow poller sees
 * every sample of it. */
#ifndef PROBE_NVML_RING_H
#define PROBE_NVML_RING_H

#include "nvml_reader.h"
#include <stdbool.h>

/* Asks for the capacities of both rings and makes room for a read of them. */
void nvml_rings_open(nvml_reader *reader, const nvml_api *api);

/* Reads what is new in both rings; busy intervals also go to u. Returns up to when the device's
 * history is known in known_ns. NVML_FEATURE_ABSENT, with known_ns untouched: there is no ring that
 * could be relied on now. */
nvml_class nvml_rings_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, probe_union *u,
                           int64_t *known_ns);

/* A device that was idle is busy again: whether its ring, which was dry, is now worth asking before
 * its time. */
bool nvml_rings_wake(nvml_reader *reader);

#endif
