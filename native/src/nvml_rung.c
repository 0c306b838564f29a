#include "nvml_rung.h"

#include "clock.h"

/* A source that has worked may fail twice: what it missed it tells later. */
enum { FAILURES_MAX = 3 };

/* The first rest is short, because a device that has just been opened may not be ready. */
static const int64_t rest_min_ns = PROBE_NS_PER_S, rest_max_ns = 60 * PROBE_NS_PER_S;

bool nvml_rung_rests(const nvml_rung *rung, int64_t now_ns) {
    return rung->absent || now_ns < rung->rests_until_ns;
}

nvml_class nvml_rung_rest(nvml_rung *rung, int64_t now_ns) {
    rung->rest_ns = rung->rest_ns == 0 ? rest_min_ns : 2 * rung->rest_ns;
    rung->rest_ns = rung->rest_ns < rest_max_ns ? rung->rest_ns : rest_max_ns;
    rung->rests_until_ns = now_ns + rung->rest_ns;
    return NVML_FEATURE_ABSENT;
}

nvml_class nvml_rung_judge(nvml_rung *rung, nvml_return code, int64_t now_ns) {
    nvml_class result = code == NVML_E_NO_PERMISSION ? NVML_FEATURE_ABSENT : nvml_classify(code);
    if (result == NVML_GOOD) {
        *rung = (nvml_rung){.worked = true};
    }
    rung->absent = result == NVML_FEATURE_ABSENT;
    if (result == NVML_TRANSIENT && (++rung->failures >= FAILURES_MAX || !rung->worked)) {
        return nvml_rung_rest(rung, now_ns);
    }
    return result;
}
