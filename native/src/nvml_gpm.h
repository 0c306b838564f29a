/* GPM (GPU performance monitoring, Hopper and later): counters whose difference between two
 * readings is the exact mean over the time between them, however far apart they are. On MIG
 * instances, and where there is no ring, they are the source of utilization; elsewhere they add how
 * busy a device's parts were. */
#ifndef PROBE_NVML_GPM_H
#define PROBE_NVML_GPM_H

#include "nvml_reader.h"
#include <stdbool.h>

/* Between two readings as the source of utilization: each is two calls. */
#define NVML_GPM_PAUSE_NS (2500 * PROBE_NS_PER_MS)

/* Utilization and activity since the reading before; busy intervals also go to u. Returns up to
 * when the device's history is known in known_ns. NVML_FEATURE_ABSENT, with known_ns untouched and
 * without asking again: the device has no GPM. */
nvml_class nvml_gpm_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, probe_union *u,
                         int64_t *known_ns);

/* Activity alone, of a device whose utilization has another source. Reads at its own, slow pace,
 * or, with last, at once. */
void nvml_gpm_read_activity(nvml_reader *reader, const nvml_api *api, int64_t now_ns, bool last);

#endif
