#include "nvml_health_fixture.h"

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
    nvml_health_read(reader, &api, 0, true);
    nvml_health_read(reader, &api, 0, true);
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
    nvml_health_read(reader, &api, 0, true);
    driver.celsius_v = 71;
    driver.throttle = NVML_REASON_HW_THERMAL;
    nvml_health_read(reader, &api, 0, true);
    CHECK(device[0].health.temp_valid && device[0].health.throttle_valid);
    CHECK_INT(device[0].health.peak_temp_c, 80);
    CHECK_INT(device[0].health.throttle_bits, NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_THERMAL);
}

static void the_clock_is_that_of_a_busy_device(void) {
    begin();
    driver.mhz = 300;
    second(0, 0);
    nvml_health_read(reader, &api, 0, true);
    CHECK(!device[0].health.sm_clock_valid);
    driver.mhz = 1500;
    second(1, 90);
    nvml_health_read(reader, &api, 0, false);
    driver.mhz = 1200;
    second(2, 10);
    nvml_health_read(reader, &api, 0, false);
    driver.mhz = 300;
    second(3, 10);
    second(4, 0); /* it worked since the last look, but has just ended */
    nvml_health_read(reader, &api, 0, false);
    CHECK_INT(driver.clock_calls, 2);
    CHECK_INT(driver.throttle_calls, 4);
    CHECK_INT(device[0].health.min_sm_clock_mhz, 1200);
    CHECK_INT(device[0].health.max_sm_clock_mhz, 1500);
}

static void an_idle_device_is_left_alone(void) {
    begin();
    second(0, 0);
    nvml_health_read(reader, &api, 0, false);
    CHECK_INT(driver.throttle_calls + driver.temperature_v_calls + driver.clock_calls, 0);
    device[0].gpu.readings = 0; /* nobody knows whether it is idle */
    nvml_health_read(reader, &api, 0, false);
    CHECK_INT(driver.throttle_calls, 1);
}

static void a_temperature_below_zero_is_none(void) {
    begin();
    driver.celsius_v = -7;
    nvml_health_read(reader, &api, 0, true);
    CHECK(!device[0].health.temp_valid);
    driver.celsius_v = 0;
    nvml_health_read(reader, &api, 0, true);
    CHECK(device[0].health.temp_valid);
}

static void a_driver_without_these_functions_is_no_harm(void) {
    const nvml_api old = {0};
    begin();
    CHECK(nvml_events_open(&old, reader, DEVICES, 0) == NULL);
    nvml_health_begin(reader, &old, 0);
    nvml_health_read(reader, &old, 0, true);
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
    a_temperature_below_zero_is_none();
    the_clock_is_that_of_a_busy_device();
    an_idle_device_is_left_alone();
    a_driver_without_these_functions_is_no_harm();
    work_without_memory_is_a_stuck_reading();
    return check_failures();
}
