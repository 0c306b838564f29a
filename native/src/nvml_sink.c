#include "nvml_sink.h"

#include <stddef.h>

void nvml_sink_add(const nvml_sink *to, int64_t from_ns, int64_t to_ns, double raw_pct) {
    double pct = raw_pct > 100 ? 100 : raw_pct;
    probe_utilization_add(to->sum, from_ns, to_ns, pct);
    int64_t clipped_ns = from_ns > 0 ? from_ns : 0;
    if (to->profile != NULL && to_ns > clipped_ns) {
        probe_profile_add(to->profile, clipped_ns, to_ns, pct);
    }
    if (to->busy != NULL && pct > 0) {
        probe_union_add(to->busy, from_ns, to_ns);
    }
}
