/* A driver made of tables that tells of the health of two devices, and readers on them. */
#ifndef NVML_HEALTH_FIXTURE_H
#define NVML_HEALTH_FIXTURE_H

/* Health and events, against a driver made of tables. */
#include "check.h"
#include "clock.h"
#include "nvml_events.h"
#include "nvml_health.h"

enum { DEVICES = 2, EVENTS_MAX = 256 };

/* What the driver answers, and how often it was asked. */
static struct {
    unsigned long long energy_mj, throttle, ecc[NVML_ECC_TYPES];
    nvml_return energy_code, temperature_v_code, remapped_code, register_dbe_code, register_code;
    int celsius_v, retired;
    unsigned int celsius, mhz, pending;
    int clock_calls, temperature_calls, temperature_v_calls, throttle_calls, energy_calls;
    nvml_event_data event[EVENTS_MAX];
    int events, taken;
} driver;

static int names[DEVICES]; /* whose addresses are the handles */
static nvml_reader reader[DEVICES];
static probe_gpu_device device[DEVICES];

static nvml_return fake_energy(nvml_device handle, unsigned long long *mj) {
    (void)handle;
    driver.energy_calls++;
    *mj = driver.energy_mj;
    return driver.energy_code;
}

static nvml_return fake_throttle(nvml_device handle, unsigned long long *bits) {
    (void)handle;
    driver.throttle_calls++;
    *bits = driver.throttle;
    return NVML_OK;
}

static nvml_return fake_temperature(nvml_device handle, int sensor, unsigned int *celsius) {
    (void)handle;
    driver.temperature_calls++;
    *celsius = driver.celsius;
    return sensor == 0 ? NVML_OK : NVML_E_INVALID_ARGUMENT;
}

static nvml_return fake_temperature_v(nvml_device handle, nvml_temperature *now) {
    (void)handle;
    driver.temperature_v_calls++;
    now->celsius = driver.celsius_v;
    return now->version == NVML_TEMPERATURE_VERSION ? driver.temperature_v_code
                                                    : NVML_E_ARGUMENT_VERSION_MISMATCH;
}

static nvml_return fake_clock(nvml_device handle, int clock, unsigned int *mhz) {
    (void)handle;
    driver.clock_calls++;
    *mhz = driver.mhz;
    return clock == NVML_CLOCK_SM ? NVML_OK : NVML_E_INVALID_ARGUMENT;
}

static nvml_return fake_limit(nvml_device handle, unsigned int *milliwatts) {
    (void)handle;
    *milliwatts = 300000;
    return NVML_OK;
}

static nvml_return fake_ecc(nvml_device handle, int type, int counter, unsigned long long *count) {
    (void)handle;
    *count = driver.ecc[type];
    return counter == NVML_ECC_SINCE_DRIVER_LOAD ? NVML_OK : NVML_E_INVALID_ARGUMENT;
}

static nvml_return fake_remapped(nvml_device handle, unsigned int *corrected,
                                 unsigned int *uncorrected, unsigned int *pending,
                                 unsigned int *failed) {
    (void)handle;
    *corrected = *uncorrected = *failed = 0;
    *pending = driver.pending;
    return driver.remapped_code;
}

static nvml_return fake_retired(nvml_device handle, int *pending) {
    (void)handle;
    *pending = driver.retired;
    return NVML_OK;
}

static nvml_return fake_set_create(void **set) {
    *set = &driver;
    return NVML_OK;
}

static nvml_return fake_register(nvml_device handle, unsigned long long types, void *set) {
    if (set != &driver) {
        return NVML_E_INVALID_ARGUMENT;
    }
    if (handle == &names[1]) {
        return NVML_E_NOT_SUPPORTED;
    }
    return (types & NVML_EVENT_ECC_DBE) != 0 ? driver.register_dbe_code : driver.register_code;
}

static nvml_return fake_wait(void *set, nvml_event_data *event, unsigned int timeout_ms) {
    if (set != &driver || timeout_ms != 0) {
        return NVML_E_INVALID_ARGUMENT;
    }
    if (driver.taken == driver.events) {
        return NVML_E_TIMEOUT;
    }
    *event = driver.event[driver.taken++];
    return NVML_OK;
}

static const nvml_api api = {
    .energy = fake_energy,
    .throttle = fake_throttle,
    .temperature = fake_temperature,
    .temperature_v = fake_temperature_v,
    .clock_info = fake_clock,
    .power_limit = fake_limit,
    .ecc_errors = fake_ecc,
    .remapped_rows = fake_remapped,
    .retired_pending = fake_retired,
    .event_set_create = fake_set_create,
    .register_events = fake_register,
    .event_wait = fake_wait,
};

static inline void begin(void) {
    memset(&driver, 0, sizeof driver);
    memset(device, 0, sizeof device);
    for (int i = 0; i < DEVICES; i++) {
        reader[i] = (nvml_reader){.handle = &names[i], .out = &device[i]};
    }
}

/* The device was read as busy or idle for a second more. */
static inline void second(int64_t from_s, uint32_t pct) {
    int64_t from_ns = from_s * PROBE_NS_PER_S;
    probe_utilization_add(&device[0].gpu, from_ns, from_ns + PROBE_NS_PER_S, pct);
    probe_busy_span_add(&device[0].span, from_ns, from_ns + PROBE_NS_PER_S, pct > 0);
}

#endif
