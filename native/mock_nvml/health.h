/* Which counters of faults a device of the scenario has. */
#ifndef MOCK_HEALTH_H
#define MOCK_HEALTH_H

#include "scenario.h"

static inline bool mock_has_ecc(const mock_device *device) {
    return device->ecc != 0 || device->series[MOCK_ECC_SBE].count > 0 ||
           device->series[MOCK_ECC_DBE].count > 0;
}

static inline bool mock_has_rows(const mock_device *device) {
    return device->series[MOCK_REMAPPED].count > 0 || device->remapped_corrected > 0 ||
           device->remap_pending != 0 || device->remap_failed != 0;
}

#endif
