/* Memory in use on one device. */
#ifndef PROBE_NVML_MEMORY_H
#define PROBE_NVML_MEMORY_H

#include "nvml_reader.h"

/* host_bytes: the host's memory. Devices that are known to have none of their own then are not
 * taken for having it when the driver tells the host's. */
void nvml_reader_memory_open(nvml_reader *reader, uint64_t host_bytes);

/* Memory in use at now_ns (since the start of the task). */
nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns);

#endif
