#include "nvml_gpm.h"

#include "clock.h"
#include "nvml_sink.h"

/* A difference over less than this is none. */
static const int64_t spacing_min_ns = 100 * PROBE_NS_PER_MS;

/* Between two readings of activity alone: the exact mean needs no more, and each costs two calls.
 */
static const int64_t activity_min_ns = 2 * PROBE_NS_PER_S, activity_max_ns = 5 * PROBE_NS_PER_S;

/* The metrics: graphics utilization, then those of probe_activity. */
enum { METRIC_UTILIZATION = PROBE_ACTIVITIES, METRICS };
static const unsigned int metric_id[METRICS] = {
    [PROBE_ACTIVITY_SM] = NVML_GPM_SM_UTIL,
    [PROBE_ACTIVITY_SM_OCCUPANCY] = NVML_GPM_SM_OCCUPANCY,
    [PROBE_ACTIVITY_TENSOR] = NVML_GPM_ANY_TENSOR_UTIL,
    [PROBE_ACTIVITY_DRAM_BW] = NVML_GPM_DRAM_BW_UTIL,
    [METRIC_UTILIZATION] = NVML_GPM_GRAPHICS_UTIL,
};

static bool refused(const nvml_gpm *gpm, int metric) {
    return (gpm->refused >> metric & 1U) != 0;
}

/* Notes what a code means for GPM as a whole. While it rests, the other rungs tell: no difference
 * goes back beyond. */
static nvml_class judge(nvml_gpm *gpm, nvml_return code, int64_t now_ns) {
    nvml_class result = nvml_rung_judge(&gpm->rung, code, now_ns);
    gpm->has_previous = gpm->has_previous && result != NVML_FEATURE_ABSENT;
    return result;
}

/* Asks whether the device has GPM, and for both samples: once. An instance has what its parent has.
 */
static nvml_class begin(nvml_reader *reader, const nvml_api *api, int64_t now_ns) {
    nvml_gpm *gpm = &reader->gpm;
    nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    gpm->rung.absent = gpm->rung.absent || api->gpm_support == NULL || api->gpm_alloc == NULL ||
                       api->gpm_sample == NULL || api->gpm_metrics == NULL;
    if (nvml_rung_rests(&gpm->rung, now_ns)) {
        return NVML_FEATURE_ABSENT;
    }
    if (gpm->ready) {
        return NVML_GOOD;
    }
    nvml_device asked = reader->parent != NULL ? reader->parent : reader->handle;
    nvml_return code = api->gpm_support(asked, &support);
    if (code == NVML_E_NO_PERMISSION && reader->parent != NULL) {
        code = api->gpm_support(reader->handle, &support);
    }
    if (code == NVML_OK && support.is_supported == 0) {
        code = NVML_E_NOT_SUPPORTED;
    }
    for (int i = 0; i < 2 && code == NVML_OK; i++) {
        code = gpm->sample[i] != NULL ? NVML_OK : api->gpm_alloc(&gpm->sample[i]);
    }
    gpm->ready = reader->out->activity.supported = code == NVML_OK;
    return gpm->ready ? NVML_GOOD : judge(gpm, code, now_ns);
}

/* Reads the counters. Of an instance by its GPU instance, as documented; where the driver lacks
 * that, by its own handle. */
static nvml_return take(nvml_reader *reader, const nvml_api *api, void *sample) {
    nvml_gpm *gpm = &reader->gpm;
    const probe_gpu_mig *mig = &reader->out->mig;
    if (reader->parent != NULL && mig->gi >= 0 && api->gpm_mig_sample != NULL && !gpm->by_handle) {
        nvml_return code = api->gpm_mig_sample(reader->parent, (unsigned int)mig->gi, sample);
        gpm->by_handle = code == NVML_E_NO_PERMISSION || nvml_classify(code) == NVML_FEATURE_ABSENT;
        if (!gpm->by_handle) {
            return code;
        }
    }
    return api->gpm_sample(reader->handle, sample);
}

/* One metric of an interval. */
static void add(nvml_reader *reader, int metric, int64_t from_ns, int64_t to_ns, double pct,
                const nvml_sink *utilization) {
    if (metric == METRIC_UTILIZATION) {
        int64_t told_ns = reader->gpu_ring.previous_ns; /* by its last entry, or by rates */
        told_ns = told_ns > reader->previous_rates_ns ? told_ns : reader->previous_rates_ns;
        nvml_sink_add(utilization, from_ns > told_ns ? from_ns : told_ns, to_ns, pct);
        reader->previous_rates_ns = to_ns;
        return;
    }
    probe_activity_sum *sum = &reader->out->activity.of[metric];
    int64_t since_ns = from_ns > 0 ? from_ns : 0;
    double whole = pct > 100 ? 100 : pct;
    sum->covered_ns += to_ns - since_ns;
    sum->pct_ns += whole * (double)(to_ns - since_ns);
    sum->peak_pct = whole > sum->peak_pct ? whole : sum->peak_pct;
}

/* Has the driver compute the metrics between the previous sample and the newest one. utilization:
 * NULL: it is not asked for. */
static nvml_class difference(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                             const nvml_sink *utilization) {
    nvml_gpm *gpm = &reader->gpm;
    /* As large as that of the newest header: drivers may write more than they were asked for. */
    nvml_gpm_metrics request = {.version = NVML_GPM_VERSION,
                                .sample1 = gpm->sample[gpm->previous],
                                .sample2 = gpm->sample[1 - gpm->previous]};
    int metric[METRICS];
    for (int m = 0; m < METRICS; m++) {
        if (!refused(gpm, m) && (m != METRIC_UTILIZATION || utilization != NULL)) {
            metric[request.count] = m;
            request.metrics[request.count++].metric_id = metric_id[m];
        }
    }
    if (request.count == 0) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_class result = judge(gpm, api->gpm_metrics(&request), now_ns);
    for (unsigned int i = 0; i < request.count && result == NVML_GOOD; i++) {
        const nvml_gpm_metric *got = &request.metrics[i];
        if (nvml_classify(got->rc) == NVML_FEATURE_ABSENT) {
            gpm->refused |= 1U << metric[i];
        } else if (got->rc == NVML_OK && got->value >= 0 && got->value <= 110) {
            add(reader, metric[i], gpm->previous_ns, now_ns, got->value, utilization);
        } /* else nonsense, as from the counters of an instance that was made anew */
    }
    return result;
}

/* A reading: the interval since the one before, when there is one. When the difference fails, the
 * counters are not those of the sample before (an instance was made anew): its time stays unknown,
 * and the newest sample begins the next interval. */
static nvml_class advance(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                          const nvml_sink *utilization) {
    nvml_gpm *gpm = &reader->gpm;
    nvml_class result = begin(reader, api, now_ns);
    if (result != NVML_GOOD || (gpm->has_previous && now_ns - gpm->previous_ns < spacing_min_ns)) {
        return result;
    }
    nvml_return code = take(reader, api, gpm->sample[1 - gpm->previous]);
    if (code != NVML_OK) { /* a sample alone tells nothing: it does not make up for failures */
        return judge(gpm, code, now_ns);
    }
    if (gpm->has_previous) {
        result = difference(reader, api, now_ns, utilization);
    }
    gpm->previous = 1 - gpm->previous;
    gpm->has_previous = result != NVML_FEATURE_ABSENT;
    gpm->previous_ns = reader->out->activity.until_ns = now_ns;
    return result;
}

nvml_class nvml_gpm_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, probe_union *u,
                         int64_t *known_ns) {
    probe_gpu_device *out = reader->out;
    nvml_gpm *gpm = &reader->gpm;
    const nvml_sink gpu = nvml_sink_of_gpu(out, u);
    if (refused(gpm, METRIC_UTILIZATION)) {
        return NVML_FEATURE_ABSENT;
    }
    nvml_class result = advance(reader, api, now_ns, &gpu);
    if (result == NVML_GOOD && gpm->rung.failures > 0) {
        result =
            NVML_FEATURE_ABSENT; /* the first sample after a rest: rates go on until the next */
    }
    if (refused(gpm, METRIC_UTILIZATION) || result == NVML_FEATURE_ABSENT) {
        out->utilization_source =
            out->gpu.readings > 0 ? out->utilization_source : PROBE_UTILIZATION_NONE;
        return NVML_FEATURE_ABSENT;
    }
    if (gpm->has_previous) {
        out->utilization_source = PROBE_UTILIZATION_GPM;
        *known_ns = gpm->previous_ns;
    }
    return result;
}

static bool tells_activity(const nvml_gpm *gpm) {
    bool any = false;
    for (int m = 0; m < PROBE_ACTIVITIES; m++) {
        any = any || !refused(gpm, m);
    }
    return any && !gpm->rung.absent;
}

void nvml_gpm_read_activity(nvml_reader *reader, const nvml_api *api, int64_t now_ns, bool last) {
    const nvml_gpm *gpm = &reader->gpm;
    int64_t pause_ns = gpm->previous_ns > activity_min_ns ? gpm->previous_ns : activity_min_ns;
    pause_ns = pause_ns < activity_max_ns ? pause_ns : activity_max_ns;
    if (tells_activity(gpm) && reader->out->utilization_source != PROBE_UTILIZATION_GPM &&
        (last || !gpm->has_previous || now_ns - gpm->previous_ns >= pause_ns)) {
        (void)advance(reader, api, now_ns, NULL); /* a device that is gone says so elsewhere */
    }
    reader->out->activity.refused = !tells_activity(gpm);
}
