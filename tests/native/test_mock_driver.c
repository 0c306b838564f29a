#include "api.h"
#include "check.h"
#include "driver.h"
#include "rules.h"

#include <stdlib.h>
#include <unistd.h>

#define MS 1000000LL

static mock_scenario scenario; /* too large for a stack */

static void read_text(const char *text) {
    char error[MOCK_ERROR_SIZE] = "";
    FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    CHECK(file != NULL);
    CHECK(file != NULL && mock_scenario_read(file, "s.txt", &scenario, error));
    CHECK_STR(error, "");
    if (file != NULL) {
        (void)fclose(file);
    }
}

static unsigned int percent(int64_t k) {
    return mock_entry_mean(&scenario, &scenario.devices[0], MOCK_UTIL, k);
}

static void held_values_integrate_exactly(void) {
    read_text("driver period_ms=100\ndevice 0\nseries 0 util 0.05 100 0.25 33 0.3 0\n");
    CHECK_INT(percent(-5), 0);
    CHECK_INT(percent(0), 0);
    CHECK_INT(percent(1), 50); /* half the period at 100 */
    CHECK_INT(percent(2), 100);
    CHECK_INT(percent(3), 66); /* (50 ms * 100 + 50 ms * 33) / 100 ms = 66.5 */
    CHECK_INT(percent(4), 0);
    /* A hair less than a whole percent is floored, and a whole one is kept. */
    read_text("driver period_ms=1000\ndevice 0\nseries 0 util 0.000000001 100 2 7 3 7 4 7\n");
    CHECK_INT(percent(1), 99);
    CHECK_INT(percent(2), 100);
    CHECK_INT(percent(3), 7);
    CHECK_INT(percent(4), 7);
    CHECK_INT(percent(100), 7); /* the last value holds */
}

static void slopes_integrate_exactly(void) {
    read_text("driver period_ms=1000\ndevice 0\nseries 0 util linear 0 0 4 100 7 1 7 50 8 50\n");
    CHECK_INT(percent(1), 12); /* 0..25: 12.5 */
    CHECK_INT(percent(4), 87); /* 75..100: 87.5 */
    CHECK_INT(percent(5), 83); /* 100..67: 83.5 */
    CHECK_INT(percent(8), 50); /* a jump at 7 s */
    CHECK_INT(percent(9), 50);
    /* Three slopes of thirds whose parts are no whole numbers but whose sum is: 1 % on average. */
    read_text("driver period_ms=7\ndevice 0\n"
              "series 0 util linear 0 0 0.003 2 0.004 1 0.005 1 0.007 1\n");
    CHECK_INT(percent(1), 1); /* (3 + 1.5 + 1 + 2) / 7 = 1.07 */
    read_text("driver period_ms=6\ndevice 0\nseries 0 util linear 0 0 0.003 2 0.006 0\n");
    CHECK_INT(percent(1), 1);
    read_text("driver period_ms=3\ndevice 0\nseries 0 util linear 0 0 0.007 1 0.014 0\n");
    CHECK_INT(percent(2), 0);
    const mock_series *load = &scenario.devices[0].series[MOCK_UTIL];
    CHECK_INT(mock_series_integral(load, 0, 14 * MS), 7 * MS * MOCK_MICRO);
    CHECK_INT(mock_series_integral(load, 1 * MS, 13 * MS), 7 * MS * MOCK_MICRO - 142857142858);
    CHECK_INT(mock_series_at(load, 1 * MS), 142857);
}

static void power_is_sampled_in_mw(void) {
    read_text("driver period_ms=100\ndevice 0\nseries 0 power 0 12.3456 0.15 24.6912\n");
    CHECK_INT(mock_entry_mean(&scenario, &scenario.devices[0], MOCK_POWER, 1), 12345);
    CHECK_INT(mock_entry_mean(&scenario, &scenario.devices[0], MOCK_POWER, 2), 18518);
}

static void newest_entry_is_the_last_complete_period(void) {
    read_text("driver period_ms=100\ndevice 0\n");
    CHECK_INT(mock_entry_newest(&scenario, 0), 0);
    CHECK_INT(mock_entry_newest(&scenario, 100 * MS - 1), 0);
    CHECK_INT(mock_entry_newest(&scenario, 100 * MS), 1);
    CHECK_INT(mock_entry_newest(&scenario, -1), -1);
    CHECK_INT(mock_entry_newest(&scenario, -100 * MS), -1);
}

static unsigned int ring(int64_t t_ms, int64_t base_us, unsigned long long seen, nvml_sample *out,
                         unsigned int capacity) {
    return mock_ring_read(&scenario, &scenario.devices[0], MOCK_UTIL, t_ms * MS, base_us, seen, out,
                          capacity);
}

static void the_ring_is_always_full(void) {
    nvml_sample out[8];
    read_text("driver period_ms=100 ring=5\ndevice 0\nseries 0 util 0 10 0.1 20\n");
    CHECK_INT(ring(250, 9000000, 0, out, 8), 5);
    CHECK_INT(out[0].timestamp_us, 9000000 - 200000); /* before T0 */
    CHECK_INT(out[0].value.ui, 0);
    CHECK_INT(out[3].value.ui, 10);
    CHECK_INT(out[4].timestamp_us, 9000000 + 200000);
    CHECK_INT(out[4].value.ui, 20);
    CHECK_INT(ring(250, 9000000, 9000000, out, 8), 2); /* only what is newer than asked */
    CHECK_INT(out[0].timestamp_us, 9100000);
    CHECK_INT(ring(250, 9000000, 9200000, out, 8), 0);
    CHECK_INT(ring(250, 9000000, 0, out, 3), 3); /* a short buffer: the oldest, to go on from */
    CHECK_INT(out[2].timestamp_us, 9000000);
    CHECK_INT(ring(250, 50000, 0, out, 8), 3); /* no entry before the clock began */
    CHECK_INT(out[0].timestamp_us, 50000);
}

static void the_ring_may_be_reversed_or_dry(void) {
    nvml_sample out[8];
    read_text(
        "driver period_ms=100 ring=5 order=descending\ndevice 0\nseries 0 util 0 10 0.1 20\n");
    CHECK_INT(ring(250, 9000000, 9000000, out, 8), 2);
    CHECK_INT(out[0].timestamp_us, 9200000);
    CHECK_INT(out[0].value.ui, 20);
    CHECK_INT(out[1].value.ui, 10);
    read_text("driver period_ms=100 ring=5 dry_when_idle=1\ndevice 0\n"
              "series 0 util 0 10 0.1 0 0.25 0.1\n");
    CHECK_INT(ring(300, 9000000, 0, out, 8), 2);
    CHECK_INT(out[0].timestamp_us, 9100000);
    CHECK_INT(out[1].timestamp_us, 9300000); /* hardly busy is not idle */
    CHECK_INT(out[1].value.ui, 0);
}

static void memory_power_and_energy_follow_their_series(void) {
    read_text("device 0 energy_mj=5\nseries 0 mem 1 100.5 2 0\n"
              "series 0 power linear 0 0 2 100\nseries 0 throttle 1 0x24\ndevice 1 power_w=70.5\n");
    const mock_device *device = &scenario.devices[0];
    CHECK_INT(mock_memory_used(&device->series[MOCK_MEM], 1000 * MS - 1), 0);
    CHECK_INT(mock_memory_used(&device->series[MOCK_MEM], 1000 * MS), 105381888); /* 100.5 * 2^20 */
    CHECK_INT(mock_memory_used(&device->series[MOCK_MEM], 2000 * MS), 0);
    CHECK_INT(mock_power_mw(device, 500 * MS), 25000);
    CHECK_INT(mock_throttle_reasons(device, 999 * MS), 0);
    CHECK_INT(mock_throttle_reasons(device, 1000 * MS), 0x24);
    CHECK_INT(mock_energy_mj(device, -1), 5);
    CHECK_INT(mock_energy_mj(device, 2000 * MS), 5 + 100000);
    CHECK_INT(mock_energy_mj(device, 1099 * MS), 5 + 25000); /* as of the last 100 ms */
    CHECK_INT(mock_energy_mj(device, 3000 * MS), 5 + 200000);
    CHECK_INT(mock_power_mw(&scenario.devices[1], -5), 70500);
    CHECK_INT(mock_energy_mj(&scenario.devices[1], 150 * MS), 7050);
    /* The longest and largest series allowed does not overflow. */
    read_text("device 0\nseries 0 power linear 0 10000 50000 0 100000 10000\n");
    CHECK_INT(mock_energy_mj(&scenario.devices[0], 100000000 * MS), 500000000000);
}

static mock_rule_state states[MOCK_RULES_MAX];

static mock_verdict judge(const char *function, int64_t device, int64_t t_ms) {
    mock_subject subject = {function, device, -1, -1};
    return mock_rules_judge(&scenario, states, &subject, t_ms * MS);
}

static void rules_apply_by_name_device_time_and_count(void) {
    memset(states, 0, sizeof states);
    read_text("device 0\ndevice 1\nfail nvmlDeviceGetMemoryInfo* dev=1 from=1 to=2 code=3\n"
              "fail nvmlDeviceGetName call=2 code=10\nlost 0 t=5\nunload t=6\n"
              "delay nvmlDeviceGetU* us=10\ndelay nvmlDeviceGetUUID us=5\n"
              "hang nvmlDeviceGetSamples from=3\n");
    CHECK_INT(judge("nvmlDeviceGetMemoryInfo_v2", 1, 999).code, 0);
    CHECK_INT(judge("nvmlDeviceGetMemoryInfo_v2", 1, 1000).code, 3);
    CHECK_INT(judge("nvmlDeviceGetMemoryInfo_v2", 0, 1000).code, 0);
    CHECK_INT(judge("nvmlDeviceGetMemoryInfo", 1, 2000).code, 0);
    CHECK_INT(judge("nvmlDeviceGetName", 0, 0).code, 0);
    CHECK_INT(judge("nvmlDeviceGetName", 1, 0).code, 10);
    CHECK_INT(judge("nvmlDeviceGetName", 1, 0).code, 0);
    CHECK_INT(judge("nvmlDeviceGetUUID", 1, 0).delay_us, 15);
    CHECK_INT(judge("nvmlDeviceGetUUID", 0, 5000).code, NVML_E_GPU_IS_LOST);
    CHECK_INT(judge("nvmlDeviceGetUUID", 1, 5000).code, 0);
    CHECK_INT(judge("nvmlDeviceGetCount", -1, 6000).code, NVML_E_DRIVER_NOT_LOADED);
    CHECK(!judge("nvmlDeviceGetSamples", 0, 2999).hang);
    CHECK(judge("nvmlDeviceGetSamples", 0, 3000).hang);
}

static void chance_is_fair_and_repeatable(void) {
    memset(states, 0, sizeof states);
    read_text("device 0\nfail nvmlDeviceGetName p=0.1 seed=7 code=10\n");
    int struck = 0, first = -1;
    for (int i = 0; i < 10000; i++) {
        bool hit = judge("nvmlDeviceGetName", 0, 0).code == 10;
        first = hit && first < 0 ? i : first;
        struck += hit;
    }
    CHECK(struck > 900 && struck < 1100);
    memset(states, 0, sizeof states);
    for (int i = 0; i <= first; i++) {
        CHECK_INT(judge("nvmlDeviceGetName", 0, 0).code, i == first ? 10 : 0);
    }
}

static void a_sticky_fault_stays(void) {
    memset(states, 0, sizeof states);
    read_text("device 0\nfail nvmlDeviceGet* from=1 to=2 call=2 sticky=1 code=15\n");
    CHECK_INT(judge("nvmlDeviceGetName", 0, 1000).code, 0);
    CHECK_INT(judge("nvmlDeviceGetUUID", 0, 1000).code, 15);
    CHECK_INT(judge("nvmlDeviceGetName", 0, 9000).code, 15);
    CHECK_INT(judge("nvmlShutdown", -1, 9000).code, 0);
}

static void a_fault_may_be_of_one_instance(void) {
    memset(states, 0, sizeof states);
    read_text("device 0\nmig 0 3\nfail * dev=0 mig=3 code=6\n");
    const mock_subject struck = {"nvmlDeviceGetName", 0, 3, -1};
    const mock_subject spared = {"nvmlDeviceGetName", 0, 2, -1};
    CHECK_INT(mock_rules_judge(&scenario, states, &struck, 0).code, 6);
    CHECK_INT(mock_rules_judge(&scenario, states, &spared, 0).code, 0);
    CHECK_INT(judge("nvmlDeviceGetName", 0, 0).code, 0);
}

/* The rest goes through the exported functions, with the built-in scenario. */
static void the_library_counts_its_users(void) {
    unsigned int count = 0;
    CHECK_INT(unsetenv("NVMLMOCK_SCENARIO"), 0);
    CHECK_INT(nvmlDeviceGetCount_v2(&count), NVML_E_UNINITIALIZED);
    CHECK_INT(nvmlShutdown(), NVML_E_UNINITIALIZED);
    CHECK_INT(nvmlInit_v2(), NVML_OK);
    CHECK_INT(nvmlInitWithFlags(0), NVML_OK);
    CHECK_INT(nvmlShutdown(), NVML_OK);
    CHECK_INT(nvmlDeviceGetCount_v2(&count), NVML_OK);
    CHECK_INT(count, 1);
    CHECK_INT(nvmlShutdown(), NVML_OK);
    CHECK_INT(nvmlDeviceGetCount_v2(&count), NVML_E_UNINITIALIZED);
}

static void bad_arguments_are_refused(void) {
    nvml_device device = NULL;
    char text[8];
    nvml_memory_v2 memory = {.version = 2};
    CHECK_INT(nvmlInit(), NVML_OK);
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(1, &device), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(0, NULL), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetHandleByUUID("GPU-none", &device), NVML_E_NOT_FOUND);
    CHECK_INT(nvmlDeviceGetHandleByUUID(NULL, &device), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_OK);
    CHECK_INT(nvmlDeviceGetName(NULL, text, sizeof text), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetName(text, text, sizeof text), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetName((char *)device + 8, text, 8), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetName(device, text, sizeof text), NVML_E_INSUFFICIENT_SIZE);
    CHECK_INT(nvmlDeviceGetName(device, NULL, 0), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlSystemGetDriverVersion(text, sizeof text), NVML_E_INSUFFICIENT_SIZE);
    CHECK_INT(nvmlDeviceGetMemoryInfo(device, NULL), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_E_FUNCTION_NOT_FOUND);
    memory.version = NVML_MEMORY_V2_VERSION;
    CHECK_INT(nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_OK);
    CHECK_INT(memory.used, 1024LL << 20);
    CHECK_INT(nvmlShutdown(), NVML_OK);
}

static void samples_keep_to_the_documented_protocol(void) {
    nvml_device device = NULL;
    nvml_sample samples[100];
    unsigned int count = 0;
    int type = -1;
    const int util = NVML_SAMPLES_GPU_UTILIZATION;
    CHECK_INT(nvmlInit_v2(), NVML_OK);
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_OK);
    CHECK_INT(nvmlDeviceGetSamples(device, util, 0, &type, &count, NULL), NVML_OK);
    CHECK_INT(count, 72);
    CHECK_INT(type, NVML_VALUE_UNSIGNED_INT);
    count = 0;
    CHECK_INT(nvmlDeviceGetSamples(device, util, 0, &type, &count, samples),
              NVML_E_INVALID_ARGUMENT);
    count = 100;
    CHECK_INT(nvmlDeviceGetSamples(device, util, 0, &type, &count, samples), NVML_OK);
    CHECK_INT(count, 72);
    unsigned long long future = samples[71].timestamp_us + 10000000;
    CHECK_INT(nvmlDeviceGetSamples(device, util, future, &type, &count, samples), NVML_E_NOT_FOUND);
    CHECK_INT(nvmlDeviceGetSamples(device, NVML_SAMPLES_TOTAL_POWER, 0, &type, &count, NULL),
              NVML_E_NOT_SUPPORTED);
    CHECK_INT(nvmlDeviceGetSamples(device, util, 0, NULL, &count, samples),
              NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlShutdown(), NVML_OK);
}

int main(void) {
    held_values_integrate_exactly();
    slopes_integrate_exactly();
    power_is_sampled_in_mw();
    newest_entry_is_the_last_complete_period();
    the_ring_is_always_full();
    the_ring_may_be_reversed_or_dry();
    memory_power_and_energy_follow_their_series();
    rules_apply_by_name_device_time_and_count();
    chance_is_fair_and_repeatable();
    a_sticky_fault_stays();
    a_fault_may_be_of_one_instance();
    the_library_counts_its_users();
    bad_arguments_are_refused();
    samples_keep_to_the_documented_protocol();
    return check_failures();
}
