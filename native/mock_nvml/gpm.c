#include "gpm.h"

static const struct {
    unsigned int id;
    mock_series_kind kind;
    const char *short_name, *long_name;
} METRICS[] = {
    {NVML_GPM_GRAPHICS_UTIL, MOCK_UTIL, "graphics_util", "Graphics utilization"},
    {NVML_GPM_SM_UTIL, MOCK_SM, "sm_util", "SM utilization"},
    {NVML_GPM_SM_OCCUPANCY, MOCK_OCCUPANCY, "sm_occupancy", "SM occupancy"},
    {NVML_GPM_ANY_TENSOR_UTIL, MOCK_TENSOR, "any_tensor_util", "Tensor utilization"},
    {NVML_GPM_DRAM_BW_UTIL, MOCK_DRAM, "dram_bw_util", "DRAM bandwidth utilization"},
};

void mock_gpm_metric(const mock_series series[MOCK_SERIES_COUNT], int64_t t0_ns, int64_t t1_ns,
                     nvml_gpm_metric *metric) {
    bool known = metric->metric_id > 0 && metric->metric_id < NVML_GPM_METRIC_MAX;
    metric->rc = known ? NVML_E_NOT_SUPPORTED : NVML_E_INVALID_ARGUMENT;
    for (size_t i = 0; i < sizeof METRICS / sizeof METRICS[0]; i++) {
        const mock_series *load = &series[METRICS[i].kind];
        /* A device without kernels is idle; the finer figures must be in the scenario. */
        if (METRICS[i].id == metric->metric_id &&
            (load->count > 0 || METRICS[i].kind == MOCK_UTIL)) {
            mock_int128 sum = mock_series_integral(load, t0_ns, t1_ns);
            metric->rc = NVML_OK;
            metric->value = (double)sum / ((double)(t1_ns - t0_ns) * (double)MOCK_MICRO);
            metric->short_name = METRICS[i].short_name;
            metric->long_name = METRICS[i].long_name;
            metric->unit = "%";
        }
    }
}
