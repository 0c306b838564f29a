/* The driver's events of all devices: Xid errors and double-bit memory errors. They explain why a
 * device was lost or a kernel failed. */
#ifndef PROBE_NVML_EVENTS_H
#define PROBE_NVML_EVENTS_H

#include "nvml_reader.h"

/* Makes the set, once, and registers every device that supports it. Returns the set; NULL: no
 * device of these reports events. */
void *nvml_events_open(const nvml_api *api, nvml_reader *readers, int count, int64_t now_ns);

/* How many events a poll takes: each is a call, and the rest waits in the driver. At the end, all,
 * unless the driver never stops talking. */
enum { NVML_EVENTS_PER_POLL = 4, NVML_EVENTS_AT_END = 2048 };

/* Takes what came since the last poll, most events at most, without waiting; set may be NULL. */
void nvml_events_poll(const nvml_api *api, void *set, nvml_reader *readers, int count,
                      int64_t now_ns, int most);

#endif
