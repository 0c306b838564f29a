/* A driver made of tables, and a reader on it. */
#ifndef NVML_FIXTURE_H
#define NVML_FIXTURE_H

#include "check.h"
#include "clock.h"
#include "nvml_device.h"
#include "nvml_memory.h"

#include <stdlib.h>
#include <time.h>

enum { PERIOD_US = 100000, ENTRIES_MAX = 64 };

/* What the driver answers. */
static struct {
    nvml_return samples_code, rates_code, v1_code, v2_code;
    unsigned int capacity, count;
    nvml_sample entry[ENTRIES_MAX];
    nvml_utilization rates;
    nvml_memory v1;
    nvml_memory_v2 v2;
    int rates_calls, value_type;
} driver;

static inline nvml_return fake_samples(nvml_device device, int type, unsigned long long last_seen,
                                       int *value_type, unsigned int *count, nvml_sample *out) {
    (void)device;
    (void)type;
    if (driver.samples_code != NVML_OK) {
        return driver.samples_code;
    }
    *value_type = driver.value_type;
    if (out == NULL) {
        *count = driver.capacity;
        return NVML_OK;
    }
    unsigned int n = 0;
    for (unsigned int i = 0; i < driver.count; i++) {
        if (driver.entry[i].timestamp_us > last_seen) {
            out[n++] = driver.entry[i];
        }
    }
    *count = n;
    return n == 0 ? NVML_E_NOT_FOUND : NVML_OK;
}

static inline nvml_return fake_rates(nvml_device device, nvml_utilization *rates) {
    (void)device;
    driver.rates_calls++;
    *rates = driver.rates;
    return driver.rates_code;
}

static inline nvml_return fake_memory(nvml_device device, nvml_memory *memory) {
    (void)device;
    *memory = driver.v1;
    return driver.v1_code;
}

static inline nvml_return fake_memory_v2(nvml_device device, nvml_memory_v2 *memory) {
    (void)device;
    *memory = driver.v2;
    return driver.v2_code;
}

static inline nvml_return fake_text(nvml_device device, char *text, unsigned int size) {
    (void)device;
    (void)snprintf(text, size, "fake");
    return NVML_OK;
}

static const nvml_api api = {
    .name = fake_text,
    .uuid = fake_text,
    .utilization = fake_rates,
    .samples = fake_samples,
    .memory = fake_memory,
    .memory_v2 = fake_memory_v2,
};

static nvml_reader reader;
static probe_gpu_device device;
static probe_union busy;

/* A fresh reader on a driver whose clock shows origin_us at the start of the task. */
static inline void begin(void) {
    free(reader.samples);
    memset(&driver, 0, sizeof driver);
    device = (probe_gpu_device){0};
    busy = (probe_union){0};
    driver.capacity = ENTRIES_MAX;
    driver.samples_code = NVML_OK;
    driver.value_type = NVML_VALUE_UNSIGNED_INT;
}

static inline void open_reader(void) {
    nvml_reader_open(&reader, &api, NULL, 0, &device);
}

static inline void entry(unsigned long long at_us, unsigned int pct) {
    driver.entry[driver.count++] = (nvml_sample){.timestamp_us = at_us, .value = {.ui = pct}};
}

/* Reads at now_ms after the start. */
static inline nvml_class read_at(int64_t now_ms) {
    int64_t known = 0;
    return nvml_reader_utilization(&reader, &api, now_ms * PROBE_NS_PER_MS, &busy, &known);
}

#endif
