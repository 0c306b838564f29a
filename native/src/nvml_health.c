#include "nvml_health.h"

#include "clock.h"

/* One bit for each question that a driver may refuse for good. */
enum {
    ASK_ENERGY,
    ASK_POWER_LIMIT,
    ASK_TEMPERATURE_V,
    ASK_TEMPERATURE,
    ASK_THROTTLE,
    ASK_SM_CLOCK,
    ASK_ECC_CORRECTED,
    ASK_ECC_UNCORRECTED,
    ASK_REMAPPED_ROWS,
    ASK_RETIRED_PAGES,
};

static bool refused(const nvml_reader *reader, int question) {
    return (reader->health.refused >> question & 1U) != 0;
}

static void miss(probe_gpu_health *out, int question) {
    switch (question) {
    case ASK_ENERGY:
        out->energy_missed = true;
        break;
    case ASK_TEMPERATURE:
    case ASK_TEMPERATURE_V:
        out->temp_missed = true;
        break;
    case ASK_ECC_CORRECTED:
        out->ecc_corrected_missed = true;
        break;
    case ASK_ECC_UNCORRECTED:
        out->ecc_uncorrected_missed = true;
        break;
    default:
        break;
    }
}

/* True: the driver answered. Another failure than that it has no answer is noted. */
static bool answered(nvml_reader *reader, int question, nvml_return code) {
    probe_gpu_health *out = &reader->out->health;
    if (nvml_classify(code) == NVML_FEATURE_ABSENT) {
        reader->health.refused |= 1U << question;
    } else if (code != NVML_OK) {
        miss(out, question);
    }
    return code == NVML_OK;
}

static bool read_energy(nvml_reader *reader, const nvml_api *api, unsigned long long *mj) {
    return api->energy != NULL && !refused(reader, ASK_ENERGY) &&
           answered(reader, ASK_ENERGY, api->energy(reader->handle, mj));
}

static bool read_ecc(nvml_reader *reader, const nvml_api *api, int type,
                     unsigned long long *count) {
    int question = type == NVML_ECC_CORRECTED ? ASK_ECC_CORRECTED : ASK_ECC_UNCORRECTED;
    return api->ecc_errors != NULL && !refused(reader, question) &&
           answered(reader, question,
                    api->ecc_errors(reader->handle, type, NVML_ECC_SINCE_DRIVER_LOAD, count));
}

void nvml_health_begin(nvml_reader *reader, const nvml_api *api, int64_t now_ns) {
    nvml_health *start = &reader->health;
    probe_gpu_health *out = &reader->out->health;
    unsigned int milliwatts = 0;
    start->energy_known = read_energy(reader, api, &start->energy_mj);
    start->energy_ns = now_ns;
    for (int type = NVML_ECC_CORRECTED; type <= NVML_ECC_UNCORRECTED; type++) {
        start->ecc_known[type] = read_ecc(reader, api, type, &start->ecc[type]);
    }
    out->energy_missed = out->energy_missed || start->energy_known; /* until the end */
    out->ecc_corrected_missed = out->ecc_corrected_missed || start->ecc_known[NVML_ECC_CORRECTED];
    out->ecc_uncorrected_missed =
        out->ecc_uncorrected_missed || start->ecc_known[NVML_ECC_UNCORRECTED];
    if (api->power_limit != NULL &&
        answered(reader, ASK_POWER_LIMIT, api->power_limit(reader->handle, &milliwatts))) {
        out->power_limit_valid = true;
        out->power_limit_mw = milliwatts;
    }
}

static bool read_temperature(nvml_reader *reader, const nvml_api *api, int *celsius) {
    enum { GPU_SENSOR = 0 };
    nvml_temperature now = {.version = NVML_TEMPERATURE_VERSION, .sensor = GPU_SENSOR};
    unsigned int older = 0;
    if (api->temperature_v != NULL && !refused(reader, ASK_TEMPERATURE_V) &&
        answered(reader, ASK_TEMPERATURE_V, api->temperature_v(reader->handle, &now))) {
        *celsius = now.celsius;
        return true;
    }
    if (api->temperature == NULL || refused(reader, ASK_TEMPERATURE) ||
        !answered(reader, ASK_TEMPERATURE, api->temperature(reader->handle, GPU_SENSOR, &older))) {
        return false;
    }
    *celsius = (int)older;
    return true;
}

static void read_clock(nvml_reader *reader, const nvml_api *api) {
    probe_gpu_health *out = &reader->out->health;
    unsigned int mhz = 0;
    if (api->clock_info == NULL || refused(reader, ASK_SM_CLOCK) ||
        !answered(reader, ASK_SM_CLOCK, api->clock_info(reader->handle, NVML_CLOCK_SM, &mhz))) {
        return;
    }
    out->min_sm_clock_mhz =
        out->sm_clock_valid && out->min_sm_clock_mhz < mhz ? out->min_sm_clock_mhz : mhz;
    out->max_sm_clock_mhz = out->max_sm_clock_mhz > mhz ? out->max_sm_clock_mhz : mhz;
    out->sm_clock_valid = true;
}

/* A device without utilization readings may be busy at any time. */
static bool was_busy(nvml_reader *reader) {
    const probe_utilization *gpu = &reader->out->gpu;
    bool busy = gpu->readings == 0 || gpu->busy_ns > reader->health.busy_ns;
    reader->health.busy_ns = gpu->busy_ns;
    return busy;
}

void nvml_health_read(nvml_reader *reader, const nvml_api *api, int64_t now_ns, bool always) {
    const unsigned long long lowering = NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_SLOWDOWN |
                                        NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |
                                        NVML_REASON_HW_POWER_BRAKE;
    probe_gpu_health *out = &reader->out->health;
    unsigned long long reasons = 0;
    int celsius = 0;
    if (!was_busy(reader) && !always) {
        out->throttle_ns = now_ns; /* nothing lowers the clocks of an idle device */
        return;
    }
    if (api->throttle != NULL && !refused(reader, ASK_THROTTLE) &&
        answered(reader, ASK_THROTTLE, api->throttle(reader->handle, &reasons))) {
        out->throttle_valid = true;
        out->throttle_ns = now_ns;
        out->throttle_bits |= reasons & lowering;
    }
    if (read_temperature(reader, api, &celsius) && celsius >= 0) {
        out->peak_temp_c =
            (uint32_t)celsius > out->peak_temp_c ? (uint32_t)celsius : out->peak_temp_c;
        out->temp_valid = true;
    }
    if (probe_busy_span_is_busy(
            &reader->out->span)) { /* the clock of an idle device says nothing */
        read_clock(reader, api);
    }
}

static void end_ecc(nvml_reader *reader, const nvml_api *api, int type, bool *valid,
                    uint64_t *count) {
    unsigned long long now = 0;
    if (reader->health.ecc_known[type] && read_ecc(reader, api, type, &now) &&
        now >= reader->health.ecc[type]) { /* else the driver was loaded anew */
        *valid = true;
        *count = now - reader->health.ecc[type];
    }
}

/* Memory that failed is replaced at the next reset: rows since Ampere, pages before. */
static void read_repair(nvml_reader *reader, const nvml_api *api) {
    probe_gpu_health *out = &reader->out->health;
    unsigned int corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    int retired = 0;
    if (api->remapped_rows != NULL &&
        answered(reader, ASK_REMAPPED_ROWS,
                 api->remapped_rows(reader->handle, &corrected, &uncorrected, &pending, &failed))) {
        out->repair_valid = true;
        out->repair_pending = pending != 0;
    } else if (api->retired_pending != NULL &&
               answered(reader, ASK_RETIRED_PAGES,
                        api->retired_pending(reader->handle, &retired))) {
        out->repair_valid = true;
        out->repair_pending = retired != 0;
    }
}

void nvml_health_end(nvml_reader *reader, const nvml_api *api, int64_t now_ns) {
    const nvml_health *start = &reader->health;
    probe_gpu_health *out = &reader->out->health;
    unsigned long long mj = 0;
    if (start->energy_known && read_energy(reader, api, &mj) && mj >= start->energy_mj) {
        out->energy_valid = true;
        out->energy_mj = mj - start->energy_mj;
        out->energy_ns = now_ns - start->energy_ns;
    }
    end_ecc(reader, api, NVML_ECC_CORRECTED, &out->ecc_corrected_valid, &out->ecc_corrected);
    end_ecc(reader, api, NVML_ECC_UNCORRECTED, &out->ecc_uncorrected_valid, &out->ecc_uncorrected);
    read_repair(reader, api);
}

bool nvml_health_is_stuck(const probe_gpu_device *device) {
    const uint64_t context_bytes = 64 << 20;
    const probe_utilization *gpu = &device->gpu;
    return gpu->covered_ns >= 5 * PROBE_NS_PER_S &&
           gpu->pct_ns == 100 * (uint64_t)gpu->covered_ns && device->used.any &&
           device->memory_source == PROBE_MEMORY_V2 && device->used.peak_bytes < context_bytes;
}
