/* Memory in use on one device. */
#ifndef PROBE_NVML_MEMORY_H
#define PROBE_NVML_MEMORY_H

#include "nvml_reader.h"

/* host_bytes: the host's memory. Devices that are known to have none of their own then are not
 * taken for having it when the driver tells the host's. */
void nvml_reader_memory_open(nvml_reader *reader, uint64_t host_bytes);

/* Memory in use at now_ns (since the start of the task). The older call takes the place of the
 * newer one where that is not supported, or has failed several times; the last time whatever the
 * reason.
 */
nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns, bool last);

/* Whether the first reading is what others used when the task began: it was soon enough, or no
 * process of the task's was on the device just after it. */
void nvml_reader_memory_settle_start(probe_gpu_device *out);

#endif
