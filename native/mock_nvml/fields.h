/* The values that nvmlDeviceGetFieldValues has, by number. */
#ifndef MOCK_FIELDS_H
#define MOCK_FIELDS_H

#include "scenario.h"

/* The value of a field at t_ns. NOT_SUPPORTED: the device, or the mock, does not have it. */
nvml_return mock_field_value(const mock_device *device, unsigned int field, int64_t t_ns,
                             int *value_type, nvml_value *value);

#endif
