#include "scenario_lines.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool mock_parse_device_number(const mock_line *line, const mock_scenario *scenario,
                              const char *word, int64_t *device) {
    if (word == NULL || !mock_parse_fixed(word, 0, device) || *device >= scenario->device_count) {
        return mock_complain(line, "%s: not the number of a device declared above this line",
                             word == NULL ? "(nothing)" : word);
    }
    return true;
}

bool mock_read_device_number(mock_line *line, const mock_scenario *scenario, int64_t *device) {
    return mock_parse_device_number(line, scenario, mock_next_word(line), device);
}

static const mock_field DEVICE_FIELDS[] = {
    {"name", MOCK_FIELD_TEXT, offsetof(mock_device, name), 0, NVML_NAME_SIZE, NULL},
    {"uuid", MOCK_FIELD_TEXT, offsetof(mock_device, uuid), 0, NVML_UUID_SIZE, NULL},
    {"mem_mib", MOCK_FIELD_INTEGER, offsetof(mock_device, mem_mib), 1, 1 << 24, NULL},
    {"reserved_mib", MOCK_FIELD_INTEGER, offsetof(mock_device, reserved_mib), 0, 1 << 24, NULL},
    {"power_w", MOCK_FIELD_MICRO, offsetof(mock_device, power_micro_w), 0, MOCK_INTEGRATED_MAX,
     NULL},
    {"temp_c", MOCK_FIELD_INTEGER, offsetof(mock_device, temp_c), 0, 150, NULL},
    {"energy_mj", MOCK_FIELD_INTEGER, offsetof(mock_device, energy_mj), 0, 1LL << 50, NULL},
    {"serial", MOCK_FIELD_TEXT, offsetof(mock_device, serial), 0, 30, NULL},
    {"pci", MOCK_FIELD_TEXT, offsetof(mock_device, pci_text), 0, 32, NULL},
    {"minor", MOCK_FIELD_INTEGER, offsetof(mock_device, minor), 0, 255, NULL},
    {"numa", MOCK_FIELD_INTEGER, offsetof(mock_device, numa), 0, 255, NULL},
    {"arch", MOCK_FIELD_CHOICE, offsetof(mock_device, arch), 0, 0,
     "kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell"},
    {"compute", MOCK_FIELD_MICRO, offsetof(mock_device, compute_micro), 1, 99, NULL},
    {"max_sm_mhz", MOCK_FIELD_INTEGER, offsetof(mock_device, max_sm_mhz), 1, 10000, NULL},
    {"max_mem_mhz", MOCK_FIELD_INTEGER, offsetof(mock_device, max_mem_mhz), 1, 30000, NULL},
    {"video_mhz", MOCK_FIELD_INTEGER, offsetof(mock_device, video_mhz), 1, 10000, NULL},
    {"ecc", MOCK_FIELD_CHOICE, offsetof(mock_device, ecc), 0, 0, "0|1"},
    {"gpm", MOCK_FIELD_CHOICE, offsetof(mock_device, gpm), 0, 0, "0|1"},
    {"remapped_corrected", MOCK_FIELD_INTEGER, offsetof(mock_device, remapped_corrected), 0,
     1 << 16, NULL},
    {"remap_pending", MOCK_FIELD_CHOICE, offsetof(mock_device, remap_pending), 0, 0, "0|1"},
    {"remap_failed", MOCK_FIELD_CHOICE, offsetof(mock_device, remap_failed), 0, 0, "0|1"},
    {"memory_v1", MOCK_FIELD_CHOICE, offsetof(mock_device, memory_v1), 0, 0, MOCK_MEMORY_FAULTS},
    {"memory_v2", MOCK_FIELD_CHOICE, offsetof(mock_device, memory_v2), 0, 0, MOCK_MEMORY_FAULTS},
    {"mig", MOCK_FIELD_CHOICE, offsetof(mock_device, mig), 0, 0, "none|off|on"},
    {"mig_max", MOCK_FIELD_INTEGER, offsetof(mock_device, mig_max), 1, MOCK_MIG_INDEX_MAX + 1,
     NULL},
    {"mig_parent_memory", MOCK_FIELD_CHOICE, offsetof(mock_device, mig_parent_memory), 0, 0, "0|1"},
    {"accounting", MOCK_FIELD_CHOICE, offsetof(mock_device, accounting), 0, 0, "0|1"},
    {0}};

bool mock_parse_pci(const char *text, int64_t *domain, int64_t *bus, int64_t *device) {
    unsigned int d, b, s;
    int end = 0;
    if (sscanf(text, "%8x:%2x:%2x.0%n", &d, &b, &s, &end) != 3 || end == 0 || text[end] != '\0') {
        return false;
    }
    *domain = d;
    *bus = b;
    *device = s;
    return true;
}

/* What the table of fields cannot check. */
static bool check_device(const mock_line *line, mock_device *device) {
    if (device->reserved_mib > device->mem_mib) {
        return mock_complain(line, "reserved_mib=%" PRId64 ": allowed is at most mem_mib, %" PRId64,
                             device->reserved_mib, device->mem_mib);
    }
    return device->pci_text[0] == '\0' ||
           mock_parse_pci(device->pci_text, &device->pci_domain, &device->pci_bus,
                          &device->pci_device) ||
           mock_complain(line, "pci=%s: allowed is DOMAIN:BUS:DEVICE.0 in hexadecimal",
                         device->pci_text);
}

bool mock_read_device(mock_line *line, mock_scenario *scenario) {
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
    *device = (mock_device){.pci_bus = number + 1,
                            .minor = number,
                            .numa = -1,
                            .arch = -1,
                            .name = "Mock GPU",
                            .accounting = scenario->accounting,
                            .mig_max = 7,
                            .mig_parent_memory = 1,
                            .mem_mib = 16384,
                            .power_micro_w = 70 * MOCK_MICRO,
                            .temp_c = 45};
    (void)snprintf(device->uuid, sizeof device->uuid, "GPU-6d6f636b-0000-4000-8000-%012" PRId64,
                   number);
    if (!mock_read_fields(line, DEVICE_FIELDS, device) || !check_device(line, device)) {
        return false;
    }
    scenario->device_count++;
    return true;
}

const mock_mig *mock_scenario_mig(const mock_scenario *scenario, int64_t device, int64_t index) {
    for (int64_t i = 0; i < scenario->mig_count; i++) {
        if (scenario->migs[i].device == device && scenario->migs[i].index == index) {
            return &scenario->migs[i];
        }
    }
    return NULL;
}

/* The index of a new instance, behind the number of its device. */
static bool read_mig_index(mock_line *line, const mock_scenario *scenario, mock_mig *mig) {
    const mock_device *device = &scenario->devices[mig->device];
    const char *word = mock_next_word(line);
    if (word == NULL || !mock_parse_fixed(word, 0, &mig->index) || mig->index >= device->mig_max) {
        return mock_complain(line, "mig INDEX %s: allowed is less than mig_max, %" PRId64,
                             word == NULL ? "(nothing)" : word, device->mig_max);
    }
    return mock_scenario_mig(scenario, mig->device, mig->index) == NULL ||
           mock_complain(line, "mig: device %" PRId64 " has an instance %" PRId64 " already",
                         mig->device, mig->index);
}

/* What a MIG device is called when the scenario does not say. */
static void name_mig(const mock_device *device, mock_mig *mig) {
    if (mig->name[0] == '\0') {
        char name[NVML_NAME_SIZE]; /* not at once: both names lie in the scenario */
        (void)snprintf(name, sizeof name, "%.60s MIG %" PRId64 "g.%" PRId64 "gb", device->name,
                       mig->slices, mig->mem_mib >> 10);
        memcpy(mig->name, name, sizeof name);
    }
    if (mig->uuid[0] == '\0') {
        (void)snprintf(mig->uuid, sizeof mig->uuid,
                       "MIG-6d6f636b-0000-4000-8000-%06" PRId64 "%06" PRId64, mig->device,
                       mig->index);
    }
}

bool mock_read_mig(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        {"name", MOCK_FIELD_TEXT, offsetof(mock_mig, name), 0, NVML_NAME_SIZE, NULL},
        {"uuid", MOCK_FIELD_TEXT, offsetof(mock_mig, uuid), 0, NVML_UUID_SIZE, NULL},
        {"gi", MOCK_FIELD_INTEGER, offsetof(mock_mig, gi), 0, 255, NULL},
        {"ci", MOCK_FIELD_INTEGER, offsetof(mock_mig, ci), 0, 255, NULL},
        {"mem_mib", MOCK_FIELD_INTEGER, offsetof(mock_mig, mem_mib), 1, 1 << 24, NULL},
        {"slices", MOCK_FIELD_INTEGER, offsetof(mock_mig, slices), 1, 8, NULL},
        {"compute_slices", MOCK_FIELD_INTEGER, offsetof(mock_mig, compute_slices), 1, 8, NULL},
        {"multiprocessors", MOCK_FIELD_INTEGER, offsetof(mock_mig, multiprocessors), 1, 1024, NULL},
        {0}};
    if (scenario->mig_count == MOCK_MIGS_MAX) {
        return mock_complain(line, "mig: at most %d are allowed", MOCK_MIGS_MAX);
    }
    mock_mig *mig = &scenario->migs[scenario->mig_count];
    *mig = (mock_mig){.slices = 1, .multiprocessors = 14, .mem_mib = 4096};
    if (!mock_read_device_number(line, scenario, &mig->device)) {
        return false;
    }
    mock_device *device = &scenario->devices[mig->device];
    if (!read_mig_index(line, scenario, mig)) {
        return false;
    }
    mig->gi = mig->index + 1;
    if (!mock_read_fields(line, FIELDS, mig)) {
        return false;
    }
    if (mig->mem_mib > device->mem_mib) {
        return mock_complain(line, "mem_mib=%" PRId64 ": allowed is at most the device's, %" PRId64,
                             mig->mem_mib, device->mem_mib);
    }
    mig->compute_slices = mig->compute_slices > 0 ? mig->compute_slices : mig->slices;
    name_mig(device, mig);
    device->mig = MOCK_MIG_ON;
    scenario->mig_count++;
    return true;
}
