#include "nvml_health.h"

void nvml_reader_health_open(nvml_reader *reader, const nvml_api *api) {
    reader->energy_known = !reader->out->mig.is_instance && /* they are the parent's */
                           api->energy != NULL &&
                           api->energy(reader->handle, &reader->energy_start_mj) == NVML_OK;
}

nvml_class nvml_reader_health(nvml_reader *reader, const nvml_api *api, bool energy) {
    probe_gpu_device *out = reader->out;
    const unsigned long long lowering = NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_SLOWDOWN |
                                        NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |
                                        NVML_REASON_HW_POWER_BRAKE;
    unsigned long long value = 0;
    nvml_return code = NVML_E_NOT_SUPPORTED;
    if (out->mig.is_instance) {
        return NVML_GOOD; /* energy and clocks are the whole device's */
    }
    if (api->throttle != NULL && (code = api->throttle(reader->handle, &value)) == NVML_OK) {
        out->throttle_valid = true;
        out->throttle_bits |= value & lowering;
    }
    if (energy && reader->energy_known && api->energy(reader->handle, &value) == NVML_OK &&
        value >= reader->energy_start_mj) {
        out->energy_valid = true;
        out->energy_mj = value - reader->energy_start_mj;
    }
    return nvml_classify(code);
}
