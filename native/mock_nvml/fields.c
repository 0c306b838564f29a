#include "fields.h"

#include "driver.h"
#include "health.h"

enum {
    FIELD_ECC_MODE = 1,
    FIELD_ECC_SBE_VOLATILE = 3,
    FIELD_ECC_DBE_VOLATILE,
    FIELD_ECC_SBE_AGGREGATE,
    FIELD_ECC_DBE_AGGREGATE,
    FIELD_RETIRED_SBE = 29,
    FIELD_RETIRED_DBE,
    FIELD_RETIRED_PENDING,
    FIELD_MEMORY_TEMPERATURE = 82,
    FIELD_ENERGY = 83,
    FIELD_REMAPPED_CORRECTED = 142,
    FIELD_REMAPPED_UNCORRECTED,
    FIELD_REMAP_PENDING,
    FIELD_REMAP_FAILED,
    FIELD_POWER_AVERAGE = 185,
    FIELD_POWER_INSTANT = 186,
    FIELD_POWER_LIMIT = 190,
};

/* Whether the device has what a field is about. */
static bool has(const mock_device *device, unsigned int field) {
    if (field == FIELD_ECC_MODE ||
        (field >= FIELD_ECC_SBE_VOLATILE && field <= FIELD_ECC_DBE_AGGREGATE)) {
        return mock_has_ecc(device);
    }
    if (field >= FIELD_RETIRED_SBE && field <= FIELD_RETIRED_PENDING) {
        return device->series[MOCK_RETIRED].count > 0;
    }
    if (field >= FIELD_REMAPPED_CORRECTED && field <= FIELD_REMAP_FAILED) {
        return mock_has_rows(device);
    }
    return field == FIELD_MEMORY_TEMPERATURE
               ? device->series[MOCK_MEM_TEMP].count > 0
               : field == FIELD_ENERGY || field == FIELD_POWER_AVERAGE ||
                     field == FIELD_POWER_INSTANT || field == FIELD_POWER_LIMIT;
}

/* The value of a field that the device has. */
static int64_t number(const mock_device *device, unsigned int field, int64_t t_ns) {
    const mock_series *series = device->series;
    switch (field) {
    case FIELD_ECC_MODE:
        return 1;
    case FIELD_ECC_SBE_VOLATILE:
    case FIELD_ECC_SBE_AGGREGATE:
        return mock_whole(&series[MOCK_ECC_SBE], t_ns);
    case FIELD_ECC_DBE_VOLATILE:
    case FIELD_ECC_DBE_AGGREGATE:
        return mock_whole(&series[MOCK_ECC_DBE], t_ns);
    case FIELD_RETIRED_DBE:
        return mock_whole(&series[MOCK_RETIRED], t_ns);
    case FIELD_MEMORY_TEMPERATURE:
        return mock_whole(&series[MOCK_MEM_TEMP], t_ns);
    case FIELD_ENERGY:
        return (int64_t)mock_energy_mj(device, t_ns);
    case FIELD_REMAPPED_CORRECTED:
        return device->remapped_corrected;
    case FIELD_REMAPPED_UNCORRECTED:
        return mock_whole(&series[MOCK_REMAPPED], t_ns);
    case FIELD_REMAP_PENDING:
        return device->remap_pending;
    case FIELD_REMAP_FAILED:
        return device->remap_failed;
    case FIELD_POWER_AVERAGE:
        return mock_power_average_mw(device, t_ns);
    case FIELD_POWER_INSTANT:
        return mock_power_mw(device, t_ns);
    case FIELD_POWER_LIMIT:
        return device->power_micro_w / 1000;
    default: /* pages retired for corrected errors, or waiting to be */
        return 0;
    }
}

nvml_return mock_field_value(const mock_device *device, unsigned int field, int64_t t_ns,
                             int *value_type, nvml_value *value) {
    if (!has(device, field)) {
        return NVML_E_NOT_SUPPORTED;
    }
    int64_t found = number(device, field, t_ns);
    bool counter = field == FIELD_ENERGY ||
                   (field >= FIELD_ECC_SBE_VOLATILE && field <= FIELD_ECC_DBE_AGGREGATE);
    *value_type = counter ? NVML_VALUE_UNSIGNED_LONG_LONG : NVML_VALUE_UNSIGNED_INT;
    *value = (nvml_value){.ull = (unsigned long long)found};
    if (!counter) {
        value->ui = (unsigned int)found;
    }
    return NVML_OK;
}
