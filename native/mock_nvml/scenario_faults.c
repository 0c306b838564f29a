#include "scenario_lines.h"

#include <stddef.h>
#include <string.h>

enum { CODE_MISSING = 0 };

#define FIELD_DEVICE                                                                               \
    { "dev", MOCK_FIELD_INTEGER, offsetof(mock_rule, device), 0, MOCK_DEVICES_MAX - 1, NULL }
#define FIELD_MIG                                                                                  \
    { "mig", MOCK_FIELD_INTEGER, offsetof(mock_rule, mig), 0, MOCK_MIG_INDEX_MAX, NULL }
#define FIELD_CHANCE                                                                               \
    { "p", MOCK_FIELD_MICRO, offsetof(mock_rule, chance_micro), 0, 1, NULL }
#define FIELD_SEED                                                                                 \
    { "seed", MOCK_FIELD_INTEGER, offsetof(mock_rule, seed), 0, INT32_MAX, NULL }
#define FIELD_FROM                                                                                 \
    { "from", MOCK_FIELD_TIME, offsetof(mock_rule, from_ns), 0, MOCK_TIME_MAX_S, NULL }
#define FIELD_TO                                                                                   \
    { "to", MOCK_FIELD_TIME, offsetof(mock_rule, to_ns), 0, MOCK_TIME_MAX_S, NULL }

/* The next free rule, applying to every call of every function; NULL after mock_complain. It counts
 * only once rule_count is raised. */
static mock_rule *new_rule(mock_line *line, mock_scenario *scenario, mock_rule_kind kind) {
    if (scenario->rule_count == MOCK_RULES_MAX) {
        (void)mock_complain(line, "at most %d faults are allowed", MOCK_RULES_MAX);
        return NULL;
    }
    mock_rule *rule = &scenario->rules[scenario->rule_count];
    *rule = (mock_rule){.kind = kind,
                        .glob = "*",
                        .device = -1,
                        .mig = -1,
                        .field = -1,
                        .chance_micro = MOCK_MICRO,
                        .seed = 1,
                        .from_ns = INT64_MIN,
                        .to_ns = INT64_MAX,
                        .call_first = 1,
                        .call_last = INT64_MAX};
    return rule;
}

/* As new_rule, for lines that go on with a GLOB. */
static mock_rule *new_glob_rule(mock_line *line, mock_scenario *scenario, mock_rule_kind kind) {
    mock_rule *rule = new_rule(line, scenario, kind);
    const char *glob = mock_next_word(line);
    if (rule == NULL) {
        return NULL;
    }
    if (glob == NULL || (strncmp(glob, "nvml", 4) != 0 && glob[0] != '*') ||
        strlen(glob) >= sizeof rule->glob) {
        (void)mock_complain(line,
                            "GLOB %s: allowed is a pattern of NVML function names, such as "
                            "nvmlDeviceGet*, of at most %d bytes",
                            glob == NULL ? "(nothing)" : glob, MOCK_GLOB_SIZE - 1);
        return NULL;
    }
    memcpy(rule->glob, glob, strlen(glob) + 1);
    return rule;
}

bool mock_read_fail(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        FIELD_DEVICE,
        FIELD_MIG,
        FIELD_FROM,
        FIELD_TO,
        FIELD_CHANCE,
        FIELD_SEED,
        {"sticky", MOCK_FIELD_CHOICE, offsetof(mock_rule, sticky), 0, 0, "0|1"},
        {"call", MOCK_FIELD_CALLS, offsetof(mock_rule, call_first), 0, 0, NULL},
        {"field", MOCK_FIELD_INTEGER, offsetof(mock_rule, field), 0, 1 << 16, NULL},
        {"code", MOCK_FIELD_CODE, offsetof(mock_rule, code), 0, 0, NULL},
        {0}};
    mock_rule *rule = new_glob_rule(line, scenario, MOCK_FAIL);
    if (rule == NULL || !mock_read_fields(line, FIELDS, rule)) {
        return false;
    }
    scenario->rule_count++;
    return rule->code != CODE_MISSING || mock_complain(line, "fail: code= is missing");
}

bool mock_read_hide(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {{0}};
    mock_rule *rule = new_glob_rule(line, scenario, MOCK_FAIL);
    if (rule == NULL || !mock_read_fields(line, FIELDS, rule)) {
        return false;
    }
    rule->code = NVML_E_FUNCTION_NOT_FOUND;
    scenario->rule_count++;
    return true;
}

bool mock_read_delay(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        FIELD_DEVICE,
        FIELD_MIG,
        FIELD_FROM,
        FIELD_TO,
        FIELD_CHANCE,
        FIELD_SEED,
        {"us", MOCK_FIELD_INTEGER, offsetof(mock_rule, delay_us), 1, 600 * 1000000LL, NULL},
        {0}};
    mock_rule *rule = new_glob_rule(line, scenario, MOCK_DELAY);
    if (rule == NULL || !mock_read_fields(line, FIELDS, rule)) {
        return false;
    }
    scenario->rule_count++;
    return rule->delay_us > 0 || mock_complain(line, "delay: us= is missing");
}

static bool read_halt(mock_line *line, mock_scenario *scenario, mock_rule_kind kind) {
    static const mock_field FIELDS[] = {FIELD_DEVICE, FIELD_MIG, FIELD_FROM, {0}};
    mock_rule *rule = new_glob_rule(line, scenario, kind);
    if (rule == NULL || !mock_read_fields(line, FIELDS, rule)) {
        return false;
    }
    scenario->rule_count++;
    return true;
}

bool mock_read_hang(mock_line *line, mock_scenario *scenario) {
    return read_halt(line, scenario, MOCK_HANG);
}

bool mock_read_crash(mock_line *line, mock_scenario *scenario) {
    return read_halt(line, scenario, MOCK_CRASH);
}

/* The rest of a line whose only key is t=: every call fails with code from then on. */
static bool read_end(mock_line *line, mock_scenario *scenario, mock_rule *rule, nvml_return code) {
    static const mock_field FIELDS[] = {
        {"t", MOCK_FIELD_TIME, offsetof(mock_rule, from_ns), 0, MOCK_TIME_MAX_S, NULL}, {0}};
    if (!mock_read_fields(line, FIELDS, rule)) {
        return false;
    }
    rule->code = code;
    scenario->rule_count++;
    return rule->from_ns != INT64_MIN || mock_complain(line, "t= is missing");
}

bool mock_read_lost(mock_line *line, mock_scenario *scenario) {
    mock_rule *rule = new_rule(line, scenario, MOCK_FAIL);
    return rule != NULL && mock_read_device_number(line, scenario, &rule->device) &&
           read_end(line, scenario, rule, NVML_E_GPU_IS_LOST);
}

bool mock_read_unload(mock_line *line, mock_scenario *scenario) {
    mock_rule *rule = new_rule(line, scenario, MOCK_FAIL);
    return rule != NULL && read_end(line, scenario, rule, NVML_E_DRIVER_NOT_LOADED);
}

bool mock_read_garbage(mock_line *line, mock_scenario *scenario) {
    static const struct {
        const char *word;
        size_t offset;
    } KINDS[] = {{"name", offsetof(mock_device, garbage_name)},
                 {"endless", offsetof(mock_device, garbage_endless)},
                 {"processes", offsetof(mock_device, garbage_processes)},
                 {"records", offsetof(mock_device, garbage_records)}};
    const char *what = mock_next_word(line);
    int64_t number = 0;
    if (what != NULL && strcmp(what, "driver") == 0) {
        static const mock_field NONE[] = {{0}};
        scenario->garbage_driver = true;
        return mock_read_fields(line, NONE, scenario);
    }
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (what != NULL && strcmp(what, KINDS[i].word) == 0) {
            if (!mock_read_device_number(line, scenario, &number)) {
                return false;
            }
            *(bool *)((char *)&scenario->devices[number] + KINDS[i].offset) = true;
            return true;
        }
    }
    return mock_complain(line, "garbage %s: allowed is driver, endless, name, processes or records",
                         what == NULL ? "" : what);
}
