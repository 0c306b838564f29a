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

static void begin(void) {
    memset(&driver, 0, sizeof driver);
    memset(device, 0, sizeof device);
    for (int i = 0; i < DEVICES; i++) {
        reader[i] = (nvml_reader){.handle = &names[i], .out = &device[i]};
    }
}

/* The device was read as busy or idle for a second more. */
static void second(int64_t from_s, uint32_t pct) {
    int64_t from_ns = from_s * PROBE_NS_PER_S;
    probe_utilization_add(&device[0].gpu, from_ns, from_ns + PROBE_NS_PER_S, pct);
    probe_busy_span_add(&device[0].span, from_ns, from_ns + PROBE_NS_PER_S, pct > 0);
}

static void counters_are_differences(void) {
    begin();
    driver.energy_mj = 5000;
    driver.ecc[NVML_ECC_CORRECTED] = 100;
    nvml_health_begin(reader, &api, PROBE_NS_PER_S);
    CHECK_INT(device[0].health.power_limit_mw, 300000);
    driver.energy_mj = 7500;
    driver.ecc[NVML_ECC_CORRECTED] = 103;
    driver.ecc[NVML_ECC_UNCORRECTED] = 1;
    driver.pending = 1;
    nvml_health_end(reader, &api, 6 * PROBE_NS_PER_S);
    const probe_gpu_health *health = &device[0].health;
    CHECK(health->energy_valid && health->ecc_corrected_valid && health->ecc_uncorrected_valid);
    CHECK_INT(health->energy_mj, 2500);
    CHECK_INT(health->energy_ns, 5 * PROBE_NS_PER_S);
    CHECK_INT(health->ecc_corrected, 3);
    CHECK_INT(health->ecc_uncorrected, 1);
    CHECK(health->repair_valid && health->repair_pending);
}

static void a_counter_that_began_anew_is_no_measurement(void) {
    begin();
    driver.energy_mj = 5000;
    driver.ecc[NVML_ECC_CORRECTED] = 2;
    nvml_health_begin(reader, &api, 0);
    driver.energy_mj = 1;
    driver.ecc[NVML_ECC_CORRECTED] = 0;
    nvml_health_end(reader, &api, 1);
    CHECK(!device[0].health.energy_valid && !device[0].health.ecc_corrected_valid);
    CHECK(device[0].health.ecc_uncorrected_valid);
}

static void what_a_driver_refuses_is_asked_once(void) {
    begin();
    driver.energy_code = NVML_E_NOT_SUPPORTED;
    driver.temperature_v_code = NVML_E_FUNCTION_NOT_FOUND;
    driver.remapped_code = NVML_E_NOT_SUPPORTED;
    driver.celsius = 66;
    driver.retired = 1;
    nvml_health_begin(reader, &api, 0);
    nvml_health_read(reader, &api, true);
    nvml_health_read(reader, &api, true);
    nvml_health_end(reader, &api, 1);
    CHECK_INT(driver.energy_calls, 1);
    CHECK_INT(driver.temperature_v_calls, 1);
    CHECK_INT(driver.temperature_calls, 2);
    CHECK(!device[0].health.energy_valid);
    CHECK_INT(device[0].health.peak_temp_c, 66);
    CHECK(device[0].health.repair_valid && device[0].health.repair_pending); /* pages, then */
}

static void temperature_peaks_and_reasons_add_up(void) {
    begin();
    driver.celsius_v = 80;
    driver.throttle = NVML_REASON_SW_POWER_CAP | 1; /* 1: idle, which is not throttling */
    nvml_health_read(reader, &api, true);
    driver.celsius_v = 71;
    driver.throttle = NVML_REASON_HW_THERMAL;
    nvml_health_read(reader, &api, true);
    CHECK(device[0].health.temp_valid && device[0].health.throttle_valid);
    CHECK_INT(device[0].health.peak_temp_c, 80);
    CHECK_INT(device[0].health.throttle_bits, NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_THERMAL);
}

static void the_clock_is_that_of_a_busy_device(void) {
    begin();
    driver.mhz = 300;
    second(0, 0);
    nvml_health_read(reader, &api, true);
    CHECK(!device[0].health.sm_clock_valid);
    driver.mhz = 1500;
    second(1, 90);
    nvml_health_read(reader, &api, false);
    driver.mhz = 1200;
    second(2, 10);
    nvml_health_read(reader, &api, false);
    driver.mhz = 300;
    second(3, 10);
    second(4, 0); /* it worked since the last look, but has just ended */
    nvml_health_read(reader, &api, false);
    CHECK_INT(driver.clock_calls, 2);
    CHECK_INT(driver.throttle_calls, 4);
    CHECK_INT(device[0].health.min_sm_clock_mhz, 1200);
    CHECK_INT(device[0].health.max_sm_clock_mhz, 1500);
}

static void an_idle_device_is_left_alone(void) {
    begin();
    second(0, 0);
    nvml_health_read(reader, &api, false);
    CHECK_INT(driver.throttle_calls + driver.temperature_v_calls + driver.clock_calls, 0);
    device[0].gpu.readings = 0; /* nobody knows whether it is idle */
    nvml_health_read(reader, &api, false);
    CHECK_INT(driver.throttle_calls, 1);
}

static void event(int of, unsigned long long type, unsigned long long data) {
    driver.event[driver.events++] =
        (nvml_event_data){.device = &names[of], .type = type, .data = data};
}

static void events_go_to_their_device_with_the_time_of_the_poll(void) {
    begin();
    void *set = nvml_events_open(&api, reader, DEVICES);
    CHECK(set != NULL && device[0].health.events_valid);
    CHECK(!device[1].health.events_valid); /* not supported there */
    nvml_events_poll(&api, set, reader, DEVICES, 1, NVML_EVENTS_ALL);
    event(0, NVML_EVENT_XID, 31);
    event(1, NVML_EVENT_XID, 13);
    event(0, NVML_EVENT_ECC_DBE, 0);
    nvml_events_poll(&api, set, reader, DEVICES, 2, NVML_EVENTS_ALL);
    event(0, NVML_EVENT_XID, 79);
    nvml_events_poll(&api, set, reader, DEVICES, 3, NVML_EVENTS_ALL);
    const probe_gpu_health *health = &device[0].health;
    CHECK_INT(health->xids, 2);
    CHECK_INT(health->xid[0].number, 31);
    CHECK_INT(health->xid[0].read_ns, 2);
    CHECK_INT(health->xid[1].number, 79);
    CHECK_INT(health->xid[1].read_ns, 3);
    CHECK_INT(health->double_bit_events, 1);
    CHECK_INT(device[1].health.xids, 0);
}

static void a_flood_of_events_is_bounded(void) {
    begin();
    void *set = nvml_events_open(&api, reader, DEVICES);
    for (int i = 0; i < 100; i++) {
        event(0, NVML_EVENT_XID, (unsigned long long)i);
    }
    nvml_events_poll(&api, set, reader, DEVICES, 1, NVML_EVENTS_ALL);
    CHECK(driver.taken < 100);
    nvml_events_poll(&api, set, reader, DEVICES, 2, NVML_EVENTS_ALL);
    CHECK_INT(driver.taken, 100);
    CHECK_INT(device[0].health.xids, 100);
    CHECK_INT(device[0].health.xid[PROBE_XIDS_MAX - 1].number, PROBE_XIDS_MAX - 1);
}

static void a_board_without_ecc_still_reports_xids(void) {
    begin();
    driver.register_dbe_code = NVML_E_NOT_SUPPORTED;
    CHECK(nvml_events_open(&api, reader, DEVICES) != NULL);
    begin();
    driver.register_dbe_code = driver.register_code = NVML_E_NOT_SUPPORTED;
    CHECK(nvml_events_open(&api, reader, DEVICES) == NULL);
    CHECK(!device[0].health.events_valid);
    nvml_events_poll(&api, NULL, reader, DEVICES, 1, NVML_EVENTS_ALL);
}

static void a_driver_without_these_functions_is_no_harm(void) {
    const nvml_api old = {0};
    begin();
    CHECK(nvml_events_open(&old, reader, DEVICES) == NULL);
    nvml_health_begin(reader, &old, 0);
    nvml_health_read(reader, &old, true);
    nvml_health_end(reader, &old, 1);
    const probe_gpu_health nothing = {0};
    CHECK_INT(memcmp(&device[0].health, &nothing, sizeof nothing), 0);
}

static void work_without_memory_is_a_stuck_reading(void) {
    begin();
    for (int64_t s = 0; s < 5; s++) {
        second(s, 100);
    }
    CHECK(!nvml_health_is_stuck(&device[0])); /* the memory is not known */
    device[0].memory_source = PROBE_MEMORY_V2;
    probe_gauge_add(&device[0].used, 1, 8 << 20);
    CHECK(nvml_health_is_stuck(&device[0]));
    probe_gauge_add(&device[0].used, 2, 500 << 20);
    CHECK(!nvml_health_is_stuck(&device[0]));
    device[0].used.peak_bytes = 0;
    second(5, 99);
    CHECK(!nvml_health_is_stuck(&device[0]));
}

int main(void) {
    counters_are_differences();
    a_counter_that_began_anew_is_no_measurement();
    what_a_driver_refuses_is_asked_once();
    temperature_peaks_and_reasons_add_up();
    the_clock_is_that_of_a_busy_device();
    an_idle_device_is_left_alone();
    events_go_to_their_device_with_the_time_of_the_poll();
    a_flood_of_events_is_bounded();
    a_board_without_ecc_still_reports_xids();
    a_driver_without_these_functions_is_no_harm();
    work_without_memory_is_a_stuck_reading();
    return check_failures();
}
