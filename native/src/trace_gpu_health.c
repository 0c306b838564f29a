#include "trace_gpu_health.h"

#include "clock.h"
#include "gpu_summary.h"
#include "nvml_types.h"
#include "trace_gpu_reason.h"

/* The counter moves ten times a second: over less than this, the mean would be off by a tenth. */
static const int64_t power_min_ns = PROBE_NS_PER_S;

static void write_energy(probe_json *json, const probe_gpu_health *health) {
    if (health->energy_valid) {
        probe_json_uint(json, "energy_mj", health->energy_mj);
        if (health->energy_ns >= power_min_ns) {
            double seconds = (double)health->energy_ns / (double)PROBE_NS_PER_S;
            probe_json_uint(json, "avg_power_mw",
                            (uint64_t)((double)health->energy_mj / seconds + 0.5));
        }
    }
    if (health->power_limit_valid) {
        probe_json_uint(json, "power_limit_mw", health->power_limit_mw);
    }
}

static void write_throttle(probe_json *json, uint64_t bits) {
    static const struct {
        uint64_t bit;
        const char *name;
    } reasons[] = {
        {NVML_REASON_SW_POWER_CAP, "sw_power_cap"},     {NVML_REASON_HW_SLOWDOWN, "hw_slowdown"},
        {NVML_REASON_SW_THERMAL, "sw_thermal"},         {NVML_REASON_HW_THERMAL, "hw_thermal"},
        {NVML_REASON_HW_POWER_BRAKE, "hw_power_brake"},
    };
    probe_json_open_inline(json, "throttle_reasons", '[');
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if ((bits & reasons[i].bit) != 0) {
            probe_json_string(json, NULL, reasons[i].name);
        }
    }
    probe_json_close(json, ']');
}

static void write_memory_errors(probe_json *json, const probe_gpu_health *health) {
    if (health->ecc_corrected_valid) {
        probe_json_uint(json, "ecc_corrected", health->ecc_corrected);
    }
    if (health->ecc_uncorrected_valid) {
        probe_json_uint(json, "ecc_uncorrected", health->ecc_uncorrected);
    }
    if (health->repair_valid) {
        probe_json_bool(json, "memory_repair_pending", health->repair_pending);
    }
}

static void write_double_bit(probe_json *json, const probe_gpu_health *health) {
    probe_json_uint(json, "double_bit_ecc_events", health->double_bit_events);
    uint32_t timed = health->double_bit_events < PROBE_ECC_EVENTS_MAX ? health->double_bit_events
                                                                      : PROBE_ECC_EVENTS_MAX;
    probe_json_open_inline(json, "ecc_events", '[');
    for (uint32_t i = 0; i < timed; i++) {
        probe_json_open(json, NULL, '{');
        probe_json_int(json, "at_ms", health->double_bit_ns[i] / PROBE_NS_PER_MS);
        probe_json_close(json, '}');
    }
    probe_json_close(json, ']');
}

/* known: none can be missing, so that a list may be empty. */
static void write_events(probe_json *json, const probe_gpu_health *health, bool known) {
    uint32_t kept = health->xids < PROBE_XIDS_MAX ? health->xids : PROBE_XIDS_MAX;
    if (known || health->double_bit_events > 0) {
        write_double_bit(json, health);
    }
    if (!known && kept == 0) {
        return;
    }
    probe_json_open_inline(json, "xids", '[');
    for (uint32_t i = 0; i < kept; i++) {
        probe_json_open(json, NULL, '{');
        if (health->xid[i].number != PROBE_XID_UNKNOWN) {
            probe_json_uint(json, "xid", health->xid[i].number);
        }
        probe_json_int(json, "at_ms", health->xid[i].read_ns / PROBE_NS_PER_MS);
        probe_json_close(json, '}');
    }
    probe_json_close(json, ']');
    if (health->xids > kept) {
        probe_json_uint(json, "further_xids", health->xids - kept);
    }
}

void probe_trace_write_gpu_health(probe_json *json, const probe_gpu_device *device,
                                  int64_t realtime_ns, bool final) {
    const probe_gpu_health *health = &device->health;
    write_energy(json, health);
    if (probe_gpu_throttle_is_known(health, realtime_ns)) {
        write_throttle(json, health->throttle_bits);
    }
    if (health->temp_valid) {
        probe_json_uint(json, "peak_temp_c", health->peak_temp_c);
    }
    if (health->sm_clock_valid) {
        probe_json_uint(json, "min_sm_clock_mhz", health->min_sm_clock_mhz);
        probe_json_uint(json, "max_sm_clock_mhz", health->max_sm_clock_mhz);
    }
    write_memory_errors(json, health);
    if (health->events_valid) {
        write_events(json, health, probe_events_are_known(device, realtime_ns, final));
    }
}
