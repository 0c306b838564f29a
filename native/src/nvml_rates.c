#include "nvml_rates.h"

#include "clock.h"
#include "nvml_sink.h"

/* How far back a reading may stand. After a poll that hung for longer, nobody knows what was
 * before. */
static const int64_t reach_ns = 2 * PROBE_NS_PER_S;

/* The longest period over which drivers measure. */
static const int64_t period_max_ns = PROBE_NS_PER_S;

nvml_return nvml_rates_ask(nvml_reader *reader, const nvml_api *api) {
    if (!reader->rates.asked) {
        reader->rates.asked = true;
        reader->rates.code = api->utilization(reader->handle, &reader->rates.pct);
    }
    return reader->rates.code;
}

/* A reading soon after the start is of what ran before the task. */
static bool is_of_the_task(const nvml_reader *reader, int64_t now_ns) {
    int64_t period_ns = reader->gpu_ring.period_ns;
    return now_ns >= (period_ns > 0 && period_ns < period_max_ns ? period_ns : period_max_ns);
}

static void add(nvml_reader *reader, int64_t now_ns, probe_union *u) {
    probe_gpu_device *out = reader->out;
    const nvml_sink gpu = nvml_sink_of_gpu(out, u), memory = nvml_sink_of_memory(out);
    int64_t from_ns = now_ns - reach_ns;
    from_ns = from_ns > reader->previous_rates_ns ? from_ns : reader->previous_rates_ns;
    nvml_sink_add(&gpu, from_ns, now_ns, reader->rates.pct.gpu);
    nvml_sink_add(&memory, from_ns, now_ns, reader->rates.pct.memory);
    reader->previous_rates_ns = now_ns;
    reader->previous_rate_pct = reader->rates.pct.gpu;
}

nvml_class nvml_rates_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                           probe_union *u) {
    if (nvml_rung_rests(&reader->rates_rung, now_ns)) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_return code = nvml_rates_ask(reader, api);
    if (code == NVML_OK) {
        reader->out->utilization_source = PROBE_UTILIZATION_RATES;
        if (is_of_the_task(reader, now_ns)) {
            add(reader, now_ns, u);
        }
    }
    nvml_class result = nvml_rung_judge(&reader->rates_rung, code, now_ns);
    reader->out->utilization_forbidden = code == NVML_E_NO_PERMISSION;
    return result;
}
