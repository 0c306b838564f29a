/* The rung below the ring: the rates of the moment, polled. */
#ifndef PROBE_NVML_RATES_H
#define PROBE_NVML_RATES_H

#include "nvml_reader.h"

/* Asks once in a reading, however many need it (reader->rates; asked is to be reset before). */
nvml_return nvml_rates_ask(nvml_reader *reader, const nvml_api *api);

/* The rates at now_ns stand for the time since the poll before, or for as long as they may. Busy
 * intervals also go to u. NVML_FEATURE_ABSENT: the driver does not tell, or not now. */
nvml_class nvml_rates_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                           probe_union *u);

#endif
