#include "api.h"

#include "answer.h"
#include "driver.h"

/* The driver measures a device that is not divided. */
static void refuse_divided(mock_call *call) {
    if (call->rc == NVML_OK && call->device->mig == MOCK_MIG_ON) {
        call->rc = NVML_E_NOT_SUPPORTED;
    }
}

nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, nvml_utilization *rates) {
    mock_call call = mock_begin_filling("nvmlDeviceGetUtilizationRates", device, rates);
    refuse_divided(&call);
    if (call.rc == NVML_OK) {
        int64_t newest = mock_entry_newest(call.scenario, call.t_ns);
        rates->gpu = mock_entry_mean(call.scenario, call.device, MOCK_UTIL, newest);
        rates->memory = mock_entry_mean(call.scenario, call.device, MOCK_MEMUTIL, newest);
    }
    return mock_call_end(&call, call.rc);
}

/* The series behind a type of samples; MOCK_SERIES_COUNT: the device has none. Utilisation is there
 * on every device, the rest where the scenario has it. */
static mock_series_kind sampled(const mock_device *device, int type) {
    mock_series_kind kind = MOCK_SERIES_COUNT;
    switch (type) {
    case NVML_SAMPLES_GPU_UTILIZATION:
        return MOCK_UTIL;
    case NVML_SAMPLES_MEMORY_UTILIZATION:
        return MOCK_MEMUTIL;
    case NVML_SAMPLES_TOTAL_POWER:
        kind = MOCK_POWER;
        break;
    case NVML_SAMPLES_SM_CLOCK:
        kind = MOCK_CLOCK_SM;
        break;
    case NVML_SAMPLES_MEMORY_CLOCK:
        kind = MOCK_CLOCK_MEM;
        break;
    default:
        return MOCK_SERIES_COUNT;
    }
    return device->series[kind].count > 0 ? kind : MOCK_SERIES_COUNT;
}

/* Without a buffer, count becomes the capacity of the ring. With one, entries newer than last_seen
 * are given; having none is NOT_FOUND. */
nvml_return nvmlDeviceGetSamples(nvml_device device, int type, unsigned long long last_seen_us,
                                 int *value_type, unsigned int *count, nvml_sample *samples) {
    mock_call call = mock_begin_filling("nvmlDeviceGetSamples", device, count);
    refuse_divided(&call);
    if (call.rc != NVML_OK) {
        return mock_call_end(&call, call.rc);
    }
    if (value_type == NULL || (samples != NULL && *count == 0)) {
        return mock_call_end(&call, NVML_E_INVALID_ARGUMENT);
    }
    mock_series_kind kind = sampled(call.device, type);
    if (kind == MOCK_SERIES_COUNT) {
        return mock_call_end(&call, NVML_E_NOT_SUPPORTED);
    }
    *value_type = NVML_VALUE_UNSIGNED_INT;
    if (samples == NULL) {
        *count = (unsigned int)call.scenario->ring;
        return mock_call_end(&call, NVML_OK);
    }
    *count = mock_ring_read(call.scenario, call.device, kind, call.t_ns, call.base_us, last_seen_us,
                            samples, *count);
    return mock_call_end(&call, *count == 0 ? NVML_E_NOT_FOUND : NVML_OK);
}

nvml_return nvmlDeviceGetTotalEnergyConsumption(nvml_device device,
                                                unsigned long long *millijoules) {
    mock_call call = mock_begin_filling("nvmlDeviceGetTotalEnergyConsumption", device, millijoules);
    if (call.rc == NVML_OK) {
        *millijoules = mock_energy_mj(call.device, call.t_ns);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts) {
    mock_call call = mock_begin_filling("nvmlDeviceGetPowerUsage", device, milliwatts);
    if (call.rc == NVML_OK) {
        *milliwatts = mock_power_mw(call.device, call.t_ns);
    }
    return mock_call_end(&call, call.rc);
}

static nvml_return give_limit(const char *function, nvml_device device, unsigned int *milliwatts) {
    mock_call call = mock_begin_filling(function, device, milliwatts);
    if (call.rc == NVML_OK) {
        *milliwatts = (unsigned int)(call.device->power_micro_w / 1000);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned int *milliwatts) {
    return give_limit("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts);
}

nvml_return nvmlDeviceGetPowerManagementLimit(nvml_device device, unsigned int *milliwatts) {
    return give_limit("nvmlDeviceGetPowerManagementLimit", device, milliwatts);
}

static nvml_return give_reasons(const char *function, nvml_device device,
                                unsigned long long *reasons) {
    mock_call call = mock_begin_filling(function, device, reasons);
    if (call.rc == NVML_OK) {
        *reasons = mock_throttle_reasons(call.device, call.t_ns);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
                                                      unsigned long long *reasons) {
    return give_reasons("nvmlDeviceGetCurrentClocksThrottleReasons", device, reasons);
}

nvml_return nvmlDeviceGetCurrentClocksEventReasons(nvml_device device,
                                                   unsigned long long *reasons) {
    return give_reasons("nvmlDeviceGetCurrentClocksEventReasons", device, reasons);
}
