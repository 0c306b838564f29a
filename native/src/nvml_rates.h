/* The rung below the ring: the rates of the moment, polled. */
#ifndef PROBE_NVML_RATES_H
#define PROBE_NVML_RATES_H

#include "nvml_reader.h"

/* The rates at now_ns stand for the time since the poll before. Busy intervals also go to u.
 * NVML_FEATURE_ABSENT, without asking again, when the driver will never tell. */
nvml_class nvml_rates_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                           probe_union *u);

#endif
