#include "scenario.h"

#include "scenario_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool read_driver(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        {"version", MOCK_FIELD_TEXT, offsetof(mock_scenario, driver_version), 0, NVML_DRIVER_SIZE,
         NULL},
        {"period_ms", MOCK_FIELD_INTEGER, offsetof(mock_scenario, period_ms), 1, 10000, NULL},
        {"ring", MOCK_FIELD_INTEGER, offsetof(mock_scenario, ring), 1, MOCK_RING_MAX, NULL},
        {"clock", MOCK_FIELD_CHOICE, offsetof(mock_scenario, clock), 0, 0, "epoch|boot|relative"},
        {"order", MOCK_FIELD_CHOICE, offsetof(mock_scenario, order), 0, 0, "ascending|descending"},
        {"dry_when_idle", MOCK_FIELD_CHOICE, offsetof(mock_scenario, dry_when_idle), 0, 0, "0|1"},
        {"process_stride", MOCK_FIELD_CHOICE, offsetof(mock_scenario, process_stride), 0, 0,
         "16|24|32"},
        {"accounting", MOCK_FIELD_CHOICE, offsetof(mock_scenario, accounting), 0, 0, "0|1"},
        {0}};
    static const int64_t STRIDES[] = {16, 24, 32};
    int64_t before = scenario->process_stride;
    scenario->process_stride = -1;
    bool good = mock_read_fields(line, FIELDS, scenario);
    scenario->process_stride =
        scenario->process_stride < 0 ? before : STRIDES[scenario->process_stride];
    return good;
}

bool mock_read_device_number(mock_line *line, const mock_scenario *scenario, int64_t *device) {
    const char *word = mock_next_word(line);
    if (word == NULL || !mock_parse_fixed(word, 0, device) || *device >= scenario->device_count) {
        return mock_complain(line, "%s: not the number of a device declared above this line",
                             word == NULL ? "(nothing)" : word);
    }
    return true;
}

static bool read_device(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        {"name", MOCK_FIELD_TEXT, offsetof(mock_device, name), 0, NVML_NAME_SIZE, NULL},
        {"uuid", MOCK_FIELD_TEXT, offsetof(mock_device, uuid), 0, NVML_UUID_SIZE, NULL},
        {"mem_mib", MOCK_FIELD_INTEGER, offsetof(mock_device, mem_mib), 1, 1 << 24, NULL},
        {"reserved_mib", MOCK_FIELD_INTEGER, offsetof(mock_device, reserved_mib), 0, 1 << 24, NULL},
        {"power_w", MOCK_FIELD_MICRO, offsetof(mock_device, power_micro_w), 0, MOCK_INTEGRATED_MAX,
         NULL},
        {"temp_c", MOCK_FIELD_INTEGER, offsetof(mock_device, temp_c), 0, 150, NULL},
        {"energy_mj", MOCK_FIELD_INTEGER, offsetof(mock_device, energy_mj), 0, 1LL << 50, NULL},
        {"accounting", MOCK_FIELD_CHOICE, offsetof(mock_device, accounting), 0, 0, "0|1"},
        {0}};
    int64_t number = scenario->device_count;
    const char *word = mock_next_word(line);
    int64_t given = -1;
    if (number == MOCK_DEVICES_MAX) {
        return mock_complain(line, "device: at most %d are allowed", MOCK_DEVICES_MAX);
    }
    if (word == NULL || !mock_parse_fixed(word, 0, &given) || given != number) {
        return mock_complain(line,
                             "device %s: devices are numbered in order from 0, this is %" PRId64,
                             word == NULL ? "" : word, number);
    }
    mock_device *device = &scenario->devices[number];
    *device = (mock_device){.name = "Mock GPU",
                            .accounting = scenario->accounting,
                            .mem_mib = 16384,
                            .power_micro_w = 70 * MOCK_MICRO,
                            .temp_c = 45};
    (void)snprintf(device->uuid, sizeof device->uuid, "GPU-6d6f636b-0000-4000-8000-%012" PRId64,
                   number);
    if (!mock_read_fields(line, FIELDS, device)) {
        return false;
    }
    if (device->reserved_mib > device->mem_mib) {
        return mock_complain(line, "reserved_mib=%" PRId64 ": allowed is at most mem_mib, %" PRId64,
                             device->reserved_mib, device->mem_mib);
    }
    scenario->device_count++;
    return true;
}

static bool read_line(mock_line *line, mock_scenario *scenario) {
    static const struct {
        const char *word;
        bool (*read)(mock_line *line, mock_scenario *scenario);
    } KINDS[] = {
        {"driver", read_driver},      {"device", read_device},        {"series", mock_read_series},
        {"proc", mock_read_process},  {"fail", mock_read_fail},       {"hide", mock_read_hide},
        {"delay", mock_read_delay},   {"hang", mock_read_hang},       {"lost", mock_read_lost},
        {"unload", mock_read_unload}, {"garbage", mock_read_garbage},
    };
    const char *word = mock_next_word(line);
    if (word == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(word, KINDS[i].word) == 0) {
            return KINDS[i].read(line, scenario);
        }
    }
    return mock_complain(line,
                         "%s: allowed is driver, device, series, proc, fail, hide, delay, hang, "
                         "lost, unload or garbage",
                         word);
}

bool mock_scenario_read(FILE *text, const char *source, mock_scenario *scenario,
                        char error[MOCK_ERROR_SIZE]) {
    /* Not memset: the large arrays would become resident, and their entries are set when used. */
    scenario->device_count = scenario->process_count = 0;
    scenario->rule_count = scenario->point_count = 0;
    scenario->clock = MOCK_CLOCK_EPOCH;
    scenario->order = MOCK_ORDER_ASCENDING;
    scenario->dry_when_idle = scenario->accounting = 0;
    scenario->process_stride = sizeof(nvml_process_info);
    (void)snprintf(scenario->driver_version, sizeof scenario->driver_version, "580.126.09");
    scenario->period_ms = 167; /* a sixth of a second, the shortest period that NVML documents */
    scenario->ring = 72;       /* entries in the open kernel driver since branch 525 */
    char *buffer = NULL;
    size_t size = 0;
    mock_line line = {.source = source, .error = error};
    bool good = true;
    while (good && getline(&buffer, &size, text) >= 0) {
        line.line++;
        line.rest = buffer;
        good = read_line(&line, scenario);
    }
    if (good && ferror(text)) {
        good = mock_complain(&line, "cannot be read: %s", strerror(errno));
    }
    free(buffer);
    return good;
}

bool mock_scenario_load(const char *path, mock_scenario *scenario, char error[MOCK_ERROR_SIZE]) {
    char built_in[] = "device 0\n"
                      "series 0 util 0 50\n"
                      "series 0 memutil 0 25\n"
                      "series 0 mem 0 1024\n";
    const char *source = path == NULL ? "(built-in)" : path;
    FILE *text = path == NULL ? fmemopen(built_in, sizeof built_in - 1, "r") : fopen(path, "re");
    if (text == NULL) {
        mock_line line = {.source = source, .error = error};
        return mock_complain(&line, "cannot be opened: %s; NVMLMOCK_SCENARIO must name a scenario",
                             strerror(errno));
    }
    bool good = mock_scenario_read(text, source, scenario, error);
    (void)fclose(text); /* read only: nothing to lose */
    return good;
}
