#include "api.h"

#include "answer.h"
#include "fields.h"

/* One call, and a code and a time stamp, in us since 1970, for each value. */
nvml_return nvmlDeviceGetFieldValues(nvml_device device, int count, nvml_field_value *values) {
    mock_call call = mock_begin_filling("nvmlDeviceGetFieldValues", device, values);
    if (call.rc == NVML_OK && count < 1) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    for (int i = 0; call.rc == NVML_OK && i < count; i++) {
        nvml_field_value *value = &values[i];
        value->timestamp_us = call.wall_us + call.t_ns / 1000;
        value->latency_us = 0;
        value->rc = mock_call_judge_field(&call, value->field_id);
        if (value->rc == NVML_OK) {
            value->rc = mock_field_value(call.device, value->field_id, call.t_ns,
                                         &value->value_type, &value->value);
        }
    }
    return mock_call_end(&call, call.rc);
}
