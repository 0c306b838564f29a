#include "driver.h"

static const int64_t NS_PER_MS = 1000000;
static const int64_t ENERGY_STEP_NS = 100 * 1000000;

static int64_t floor_divide(int64_t value, int64_t step) {
    int64_t quotient = value / step;
    return quotient * step > value ? quotient - 1 : quotient;
}

/* Integral of a load over the period of entry k, in millionths of a percent times ns. */
static mock_int128 entry_integral(const mock_scenario *scenario, const mock_series *load,
                                  int64_t k) {
    int64_t period_ns = scenario->period_ms * NS_PER_MS;
    return mock_series_integral(load, (k - 1) * period_ns, k * period_ns);
}

int64_t mock_entry_newest(const mock_scenario *scenario, int64_t t_ns) {
    return floor_divide(t_ns, scenario->period_ms * NS_PER_MS);
}

unsigned int mock_entry_mean(const mock_scenario *scenario, const mock_device *device,
                             mock_series_kind kind, int64_t k) {
    const int64_t scale = kind == MOCK_POWER ? 1000 : 1; /* NVML's power is in mW */
    mock_int128 period_ns = scenario->period_ms * NS_PER_MS;
    return (unsigned int)(entry_integral(scenario, &device->series[kind], k) * scale /
                          (period_ns * MOCK_MICRO));
}

/* True when the ring has entry k with a time stamp after last_seen_us. */
static bool entry_present(const mock_scenario *scenario, const mock_device *device, int64_t k,
                          int64_t base_us, unsigned long long last_seen_us) {
    int64_t stamp_us = base_us + k * scenario->period_ms * 1000;
    if (stamp_us <= 0 || (unsigned long long)stamp_us <= last_seen_us) {
        return false;
    }
    /* Some drivers record nothing while the device is idle. */
    return !scenario->dry_when_idle || entry_integral(scenario, &device->series[MOCK_UTIL], k) != 0;
}

static void reverse(nvml_sample *samples, unsigned int count) {
    for (unsigned int i = 0; i < count / 2; i++) {
        nvml_sample kept = samples[i];
        samples[i] = samples[count - 1 - i];
        samples[count - 1 - i] = kept;
    }
}

/* The oldest entry that the ring holds and that is newer than last_seen_us: it holds a number of
 * entries, however long ago they were made. */
static int64_t oldest_entry(const mock_scenario *scenario, const mock_device *device,
                            int64_t newest, int64_t base_us, unsigned long long last_seen_us) {
    int64_t period_us = scenario->period_ms * 1000, k = newest, held = 0;
    int64_t first_ever = scenario->dry_when_idle ? 1 : INT64_MIN; /* idle before time 0 */
    while (k >= first_ever && base_us + k * period_us > 0 &&
           (unsigned long long)(base_us + k * period_us) > last_seen_us) {
        held += entry_present(scenario, device, k, base_us, last_seen_us) ? 1 : 0;
        if (held == scenario->ring) {
            return k;
        }
        k--;
    }
    return k + 1;
}

unsigned int mock_ring_read(const mock_scenario *scenario, const mock_device *device,
                            mock_series_kind kind, int64_t t_ns, int64_t base_us,
                            unsigned long long last_seen_us, nvml_sample *out,
                            unsigned int capacity) {
    int64_t newest = mock_entry_newest(scenario, t_ns);
    unsigned int count = 0;
    for (int64_t k = oldest_entry(scenario, device, newest, base_us, last_seen_us);
         k <= newest && count < capacity; k++) {
        if (entry_present(scenario, device, k, base_us, last_seen_us)) {
            int64_t stamp_us = base_us + k * scenario->period_ms * 1000;
            out[count] = (nvml_sample){.timestamp_us = (unsigned long long)stamp_us};
            out[count].value.ui = mock_entry_mean(scenario, device, kind, k);
            count++;
        }
    }
    if (scenario->order == MOCK_ORDER_DESCENDING) {
        reverse(out, count);
    }
    return count;
}

unsigned long long mock_memory_used(const mock_series *used, int64_t t_ns) {
    mock_int128 micro_mib = mock_series_at(used, t_ns);
    return (unsigned long long)(micro_mib * (1 << 20) / MOCK_MICRO);
}

unsigned long long mock_energy_mj(const mock_device *device, int64_t t_ns) {
    const mock_series *power = &device->series[MOCK_POWER];
    int64_t end_ns = floor_divide(t_ns, ENERGY_STEP_NS) * ENERGY_STEP_NS;
    mock_int128 micro_w_ns = 0;
    if (end_ns > 0) {
        micro_w_ns = power->count > 0 ? mock_series_integral(power, 0, end_ns)
                                      : (mock_int128)device->power_micro_w * end_ns;
    }
    const mock_int128 per_mj = 1000000000000LL; /* 10^-3 J in uW ns, which are 10^-15 J */
    return (unsigned long long)(device->energy_mj + micro_w_ns / per_mj);
}

unsigned int mock_power_mw(const mock_device *device, int64_t t_ns) {
    const mock_series *power = &device->series[MOCK_POWER];
    int64_t micro_w = power->count > 0 ? mock_series_at(power, t_ns) : device->power_micro_w;
    return (unsigned int)(micro_w / 1000);
}

unsigned int mock_power_average_mw(const mock_device *device, int64_t t_ns) {
    const mock_series *power = &device->series[MOCK_POWER];
    mock_int128 micro_w_ns = power->count > 0
                                 ? mock_series_integral(power, t_ns - MOCK_NS_PER_S, t_ns)
                                 : (mock_int128)device->power_micro_w * MOCK_NS_PER_S;
    return (unsigned int)(micro_w_ns / MOCK_NS_PER_S / 1000);
}

int64_t mock_whole(const mock_series *series, int64_t t_ns) {
    return mock_series_at(series, t_ns) / MOCK_MICRO;
}

unsigned int mock_temperature_c(const mock_device *device, int64_t t_ns) {
    const mock_series *temp = &device->series[MOCK_TEMP];
    return (unsigned int)(temp->count > 0 ? mock_whole(temp, t_ns) : device->temp_c);
}

unsigned long long mock_throttle_reasons(const mock_device *device, int64_t t_ns) {
    return (unsigned long long)(mock_series_at(&device->series[MOCK_THROTTLE], t_ns) / MOCK_MICRO);
}
