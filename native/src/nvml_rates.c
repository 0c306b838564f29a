#include "nvml_rates.h"

#include "nvml_sink.h"

nvml_class nvml_rates_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                           probe_union *u) {
    probe_gpu_device *out = reader->out;
    nvml_utilization rates;
    if (reader->rates_absent) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_return code = api->utilization(reader->handle, &rates);
    reader->rates_absent = nvml_classify(code) == NVML_FEATURE_ABSENT;
    if (code == NVML_OK) {
        out->utilization_source = PROBE_UTILIZATION_RATES;
        const nvml_sink gpu = nvml_sink_of_gpu(out, u), memory = nvml_sink_of_memory(out);
        /* After a poll that hung for long, nobody knows what was before. */
        int64_t from_ns = now_ns - reader->rates_reach_ns;
        from_ns = from_ns > reader->previous_rates_ns ? from_ns : reader->previous_rates_ns;
        nvml_sink_add(&gpu, from_ns, now_ns, rates.gpu);
        nvml_sink_add(&memory, from_ns, now_ns, rates.memory);
        reader->previous_rates_ns = now_ns;
    }
    return nvml_classify(code);
}
