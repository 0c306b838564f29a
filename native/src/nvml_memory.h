/* Memory in use on one device. */
#ifndef PROBE_NVML_MEMORY_H
#define PROBE_NVML_MEMORY_H

#include "nvml_reader.h"

/* Memory in use at now_ns (since the start of the task). */
nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns);

#endif
