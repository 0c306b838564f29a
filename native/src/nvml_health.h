/* How a device fares: energy used, and why its clocks were lowered. */
#ifndef PROBE_NVML_HEALTH_H
#define PROBE_NVML_HEALTH_H

#include "nvml_reader.h"

/* Reads the energy counter at the start of the task. */
void nvml_reader_health_open(nvml_reader *reader, const nvml_api *api);

/* Throttle reasons now; with energy, the energy counter too. */
nvml_class nvml_reader_health(nvml_reader *reader, const nvml_api *api, bool energy);

#endif
