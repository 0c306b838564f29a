#include "scenario.h"

#include "profile.h"
#include "scenario_lines.h"

#include <errno.h>
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
        {"cuda", MOCK_FIELD_INTEGER, offsetof(mock_scenario, cuda_version), 1000, 99990, NULL},
        {"global_lock", MOCK_FIELD_CHOICE, offsetof(mock_scenario, global_lock), 0, 0, "0|1"},
        {0}};
    static const int64_t STRIDES[] = {16, 24, 32};
    int64_t before = scenario->process_stride;
    scenario->process_stride = -1;
    bool good = mock_read_fields(line, FIELDS, scenario);
    scenario->process_stride =
        scenario->process_stride < 0 ? before : STRIDES[scenario->process_stride];
    return good;
}

static bool read_line(mock_line *line, mock_scenario *scenario) {
    static const struct {
        const char *word;
        bool (*read)(mock_line *line, mock_scenario *scenario);
    } KINDS[] = {
        {"driver", read_driver},     {"device", mock_read_device},   {"series", mock_read_series},
        {"proc", mock_read_process}, {"mig", mock_read_mig},         {"fail", mock_read_fail},
        {"hide", mock_read_hide},    {"delay", mock_read_delay},     {"hang", mock_read_hang},
        {"lost", mock_read_lost},    {"unload", mock_read_unload},   {"event", mock_read_event},
        {"crash", mock_read_crash},  {"garbage", mock_read_garbage},
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
    return mock_complain(
        line,
        "%s: allowed is driver, device, mig, series, proc, event, fail, hide, delay, hang, crash, "
        "lost, unload or garbage",
        word);
}

bool mock_scenario_read(FILE *text, const char *source, mock_scenario *scenario,
                        char error[MOCK_ERROR_SIZE]) {
    /* Not memset: the large arrays would become resident, and their entries are set when used. */
    scenario->event_count = 0;
    scenario->device_count = scenario->mig_count = scenario->process_count = 0;
    scenario->rule_count = scenario->point_count = 0;
    scenario->garbage_driver = false;
    scenario->clock = MOCK_CLOCK_EPOCH;
    scenario->order = MOCK_ORDER_ASCENDING;
    scenario->dry_when_idle = scenario->accounting = scenario->global_lock = 0;
    scenario->process_stride = mock_profile_built.process_stride;
    (void)snprintf(scenario->driver_version, sizeof scenario->driver_version, "%s",
                   mock_profile_built.version);
    scenario->cuda_version = 13000;
    scenario->period_ms = 167; /* a sixth of a second, the shortest period that NVML documents */
    scenario->ring = mock_profile_built.ring;
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
