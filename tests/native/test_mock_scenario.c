#include "check.h"
#include "scenario.h"
#include "scenario_fields.h"

#include <stdlib.h>

static mock_scenario scenario; /* too large for a stack */
static char error[MOCK_ERROR_SIZE];

static bool read_text(const char *text) {
    FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    if (file == NULL) {
        return false;
    }
    error[0] = '\0';
    bool good = mock_scenario_read(file, "s.txt", &scenario, error);
    (void)fclose(file);
    return good;
}

static void check_refused(const char *text, const char *message) {
    CHECK(!read_text(text));
    CHECK_STR(error, message);
}

static void fixed_point_numbers_are_exact(void) {
    int64_t value = 0;
    CHECK(mock_parse_fixed("0.167", 9, &value));
    CHECK_INT(value, 167000000);
    CHECK(mock_parse_fixed("12", 6, &value));
    CHECK_INT(value, 12000000);
    CHECK(mock_parse_fixed("33.333333", 6, &value));
    CHECK_INT(value, 33333333);
    CHECK(mock_parse_fixed("0x1aF", 0, &value));
    CHECK_INT(value, 0x1af);
    CHECK(mock_parse_fixed("9223372036854775807", 0, &value));
    CHECK(value == INT64_MAX);
    CHECK(!mock_parse_fixed("9223372036854775808", 0, &value));
    CHECK(!mock_parse_fixed("33.3333333", 6, &value));
    CHECK(!mock_parse_fixed("1.5", 0, &value));
    CHECK(!mock_parse_fixed("-1", 6, &value));
    CHECK(!mock_parse_fixed("", 6, &value));
    CHECK(!mock_parse_fixed(".5", 6, &value));
    CHECK(!mock_parse_fixed("1e3", 6, &value));
    CHECK(!mock_parse_fixed("0x", 0, &value));
    CHECK(!mock_parse_fixed("0x1", 6, &value));
}

static void defaults_are_those_of_the_readme(void) {
    CHECK(read_text("# nothing but a device\n\n   device 0 # here\n"));
    CHECK_STR(scenario.driver_version, "580.126.09");
    CHECK_INT(scenario.period_ms, 167);
    CHECK_INT(scenario.ring, 72);
    CHECK_INT(scenario.clock, MOCK_CLOCK_EPOCH);
    CHECK_INT(scenario.order, MOCK_ORDER_ASCENDING);
    CHECK_INT(scenario.device_count, 1);
    CHECK_STR(scenario.devices[0].name, "Mock GPU");
    CHECK_STR(scenario.devices[0].uuid, "GPU-6d6f636b-0000-4000-8000-000000000000");
    CHECK_INT(scenario.devices[0].mem_mib, 16384);
    CHECK_INT(scenario.devices[0].reserved_mib, 0);
    CHECK_INT(scenario.devices[0].series[MOCK_UTIL].count, 0);
    CHECK(read_text("driver ring=9\n"));
    CHECK_INT(scenario.device_count, 0);
    CHECK(mock_scenario_load(NULL, &scenario, error));
    CHECK_INT(scenario.device_count, 1);
    CHECK_INT(scenario.devices[0].series[MOCK_MEM].points[0].value_micro, 1024 * MOCK_MICRO);
}

static void every_attribute_is_read(void) {
    CHECK(read_text("driver version=390.1 period_ms=1000 ring=100 clock=boot order=descending "
                    "dry_when_idle=1\n"
                    "device 0\n"
                    "device 1 name=\"Mock # T4\" uuid=GPU-x mem_mib=100 reserved_mib=7 power_w=0.5 "
                    "temp_c=80 energy_mj=12\n"
                    "series 1 util 0 10 0.5 20.25\n"
                    "series 1 mem linear 0 0 2 93\n"
                    "series 1 throttle 0 0x24\n"
                    "proc 1 pid=123 t0=0.5 t1=5 mem_mib=100\n"
                    "garbage name 1\n"));
    CHECK_STR(error, "");
    CHECK_STR(scenario.driver_version, "390.1");
    CHECK_INT(scenario.period_ms, 1000);
    CHECK_INT(scenario.ring, 100);
    CHECK_INT(scenario.clock, MOCK_CLOCK_BOOT);
    CHECK_INT(scenario.order, MOCK_ORDER_DESCENDING);
    CHECK_INT(scenario.dry_when_idle, 1);
    const mock_device *device = &scenario.devices[1];
    CHECK_STR(device->name, "Mock # T4");
    CHECK_STR(device->uuid, "GPU-x");
    CHECK_INT(device->reserved_mib, 7);
    CHECK_INT(device->power_micro_w, 500000);
    CHECK_INT(device->temp_c, 80);
    CHECK_INT(device->energy_mj, 12);
    CHECK(device->garbage_name);
    CHECK_INT(device->series[MOCK_UTIL].count, 2);
    CHECK(!device->series[MOCK_UTIL].linear);
    CHECK_INT(device->series[MOCK_UTIL].points[1].t_ns, 500000000);
    CHECK_INT(device->series[MOCK_UTIL].points[1].value_micro, 20250000);
    CHECK(device->series[MOCK_MEM].linear);
    CHECK_INT(device->series[MOCK_THROTTLE].points[0].value_micro, 0x24 * MOCK_MICRO);
    CHECK_INT(scenario.process_count, 1);
    CHECK_INT(scenario.processes[0].device, 1);
    CHECK_INT(scenario.processes[0].t0_ns, 500000000);
}

static void faults_become_rules(void) {
    CHECK(read_text("device 0\n"
                    "fail nvmlDeviceGetMemoryInfo* dev=0 from=1.5 to=3 code=GPU_IS_LOST\n"
                    "fail * call=3- code=999\n"
                    "fail * call=2-4 code=NVML_ERROR_TIMEOUT\n"
                    "hide nvmlDeviceGetMemoryInfo_v2\n"
                    "lost 0 t=2\n"
                    "unload t=4\n"
                    "delay nvmlDeviceGet* us=250\n"
                    "hang nvmlInit* from=0\n"));
    CHECK_STR(error, "");
    CHECK_INT(scenario.rule_count, 8);
    const mock_rule *rules = scenario.rules;
    CHECK_STR(rules[0].glob, "nvmlDeviceGetMemoryInfo*");
    CHECK_INT(rules[0].device, 0);
    CHECK_INT(rules[0].from_ns, 1500000000);
    CHECK_INT(rules[0].to_ns, 3000000000);
    CHECK_INT(rules[0].code, NVML_E_GPU_IS_LOST);
    CHECK_INT(rules[1].call_first, 3);
    CHECK(rules[1].call_last == INT64_MAX);
    CHECK_INT(rules[1].code, NVML_E_UNKNOWN);
    CHECK_INT(rules[2].call_last, 4);
    CHECK_INT(rules[2].code, NVML_E_TIMEOUT);
    CHECK_INT(rules[3].code, NVML_E_FUNCTION_NOT_FOUND);
    CHECK_INT(rules[4].code, NVML_E_GPU_IS_LOST);
    CHECK_INT(rules[4].device, 0);
    CHECK_INT(rules[5].code, NVML_E_DRIVER_NOT_LOADED);
    CHECK_INT(rules[5].device, -1);
    CHECK_INT(rules[6].kind, MOCK_DELAY);
    CHECK_INT(rules[6].delay_us, 250);
    CHECK_INT(rules[7].kind, MOCK_HANG);
}

static void messages_name_place_key_and_what_is_allowed(void) {
    check_refused(
        "driver period=5\n",
        "s.txt:1: period=5: not a key=value of this line; allowed keys: version period_ms "
        "ring clock order dry_when_idle process_stride accounting cuda global_lock");
    check_refused("\n#\ndriver period_ms=0\n",
                  "s.txt:3: period_ms=0: allowed is a whole number from 1 to 10000");
    check_refused("driver clock=utc\n", "s.txt:1: clock=utc: allowed is epoch|boot|relative");
    check_refused("device 1\n",
                  "s.txt:1: device 1: devices are numbered in order from 0, this is 0");
    check_refused("device 0 name=\"\"\n", "s.txt:1: name=: allowed are 1 to 95 bytes");
    check_refused("device 0 mem_mib=5 reserved_mib=6\n",
                  "s.txt:1: reserved_mib=6: allowed is at most mem_mib, 5");
    check_refused("frobnicate\n",
                  "s.txt:1: frobnicate: allowed is driver, device, mig, series, proc, event, "
                  "fail, hide, delay, hang, crash, lost, unload or garbage");
    check_refused("fail nvml* code=NOPE\n", "s.txt:1: code=NOPE: allowed is a number from 1 to 999 "
                                            "or a name such as GPU_IS_LOST");
    check_refused("fail nvml*\n", "s.txt:1: fail: code= is missing");
    check_refused("fail cuda* code=3\n",
                  "s.txt:1: GLOB cuda*: allowed is a pattern of NVML function names, such as "
                  "nvmlDeviceGet*, of at most 63 bytes");
    check_refused("fail * call=0 code=3\n",
                  "s.txt:1: call=: allowed is K, K-L or K-, counted from 1");
    check_refused("hide nvmlInit code=3\n",
                  "s.txt:1: code=3: not a key=value of this line; allowed keys: none");
    check_refused("unload\n", "s.txt:1: t= is missing");
    check_refused("device 0\nproc 0 mem_mib=3\n", "s.txt:2: proc: pid= is missing");
    check_refused("garbage uuid 0\n",
                  "s.txt:1: garbage uuid: allowed is driver, endless, name, processes or records");
}

static void messages_about_series(void) {
    check_refused("series 0 util 0 1\n",
                  "s.txt:1: 0: not the number of a device declared above this line");
    check_refused(
        "device 0\nseries 0 load 0 1\n",
        "s.txt:2: series load: allowed is one of: util memutil mem power throttle sm occupancy "
        "tensor dram temp mem_temp clock_sm clock_mem ecc_sbe ecc_dbe remapped retired");
    check_refused("device 0\nseries 0 util\n",
                  "s.txt:2: series util: no points; allowed is t0 v0 t1 v1 ...");
    check_refused("device 0\nseries 0 util 0 101\n",
                  "s.txt:2: series util: value 101: allowed is a number from 0 to 100");
    check_refused("device 0\nseries 0 util 0\n",
                  "s.txt:2: series util: value (nothing): allowed is a number from 0 to 100");
    check_refused("device 0 mem_mib=10 reserved_mib=1\nseries 0 mem 0 9.5\n",
                  "s.txt:2: series mem: value 9.5: allowed is a number from 0 to 9");
    check_refused("device 0\nseries 0 throttle 0 0.5\n",
                  "s.txt:2: series throttle: value 0.5: allowed is a whole number from 0 to 65535");
    check_refused("device 0\nseries 0 util 2 0 1 0\n",
                  "s.txt:2: series: time 1: allowed are seconds from 0 to 100000, never falling");
    check_refused("device 0\nseries 0 throttle linear 0 1\n",
                  "s.txt:2: series: time linear: allowed are seconds from 0 to 100000, never "
                  "falling");
    check_refused("device 0\nseries 0 util 0 1\nseries 0 util 5 1\n",
                  "s.txt:3: series util: there is one already");
}

static void limits_are_checked_before_the_arrays_end(void) {
    size_t size = 1 << 20;
    char *text = malloc(size), *end = text;
    CHECK(text != NULL);
    if (text == NULL) {
        return;
    }
    end += snprintf(end, size, "device 0\nseries 0 util");
    for (int i = 0; i <= MOCK_POINTS_MAX; i++) {
        end += snprintf(end, (size_t)(text + size - end), " %d 1", i);
    }
    check_refused(text, "s.txt:2: series: at most 65536 points are allowed in all");
    end = text;
    for (int i = 0; i <= MOCK_DEVICES_MAX; i++) {
        end += snprintf(end, (size_t)(text + size - end), "device %d\n", i);
    }
    check_refused(text, "s.txt:17: device: at most 16 are allowed");
    end = text;
    for (int i = 0; i <= MOCK_RULES_MAX; i++) {
        end += snprintf(end, (size_t)(text + size - end), "hide nvmlInit\n");
    }
    check_refused(text, "s.txt:129: at most 128 faults are allowed");
    free(text);
}

static void a_missing_file_is_named(void) {
    CHECK(!mock_scenario_load("/nowhere/s.txt", &scenario, error));
    CHECK_STR(error, "/nowhere/s.txt:0: cannot be opened: No such file or directory; "
                     "NVMLMOCK_SCENARIO must name a scenario");
}

int main(void) {
    fixed_point_numbers_are_exact();
    defaults_are_those_of_the_readme();
    every_attribute_is_read();
    faults_become_rules();
    messages_name_place_key_and_what_is_allowed();
    messages_about_series();
    limits_are_checked_before_the_arrays_end();
    a_missing_file_is_named();
    return check_failures();
}
