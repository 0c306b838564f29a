/* GPU performance monitoring: counters that never forget, so that the difference of two readings is
 * the exact mean between them. */
#ifndef MOCK_GPM_H
#define MOCK_GPM_H

#include "scenario.h"

/* Fills the metric with the id that it holds: its code, and for NVML_OK its value, in percent, and
 * its names. t0_ns < t1_ns are the times of the readings, series those of a device or instance. */
void mock_gpm_metric(const mock_series series[MOCK_SERIES_COUNT], int64_t t0_ns, int64_t t1_ns,
                     nvml_gpm_metric *metric);

#endif
