#include "api.h"

#include "answer.h"

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned int *current, unsigned int *pending) {
    mock_call call = mock_begin_filling("nvmlDeviceGetMigMode", device, current);
    if (call.rc == NVML_OK && pending == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK && call.device->mig == MOCK_MIG_NONE) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    if (call.rc == NVML_OK) {
        *current = *pending = call.device->mig == MOCK_MIG_ON;
    }
    return mock_call_end(&call, call.rc);
}

/* The most there can be, not those there are. */
nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned int *count) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetMaxMigDeviceCount", device);
    bool on = call.rc == NVML_OK && call.device->mig == MOCK_MIG_ON;
    return mock_give_number(&call, on ? (unsigned int)call.device->mig_max : 0, count);
}

nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned int index,
                                                nvml_device *mig_device) {
    mock_call call = mock_begin_filling("nvmlDeviceGetMigDeviceHandleByIndex", device, mig_device);
    if (call.rc == NVML_OK && call.device->mig != MOCK_MIG_ON) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    if (call.rc == NVML_OK && index >= (unsigned int)call.device->mig_max) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        const mock_mig *mig = mock_scenario_mig(call.scenario, call.index, index);
        if (mig == NULL) {
            call.rc = NVML_E_NOT_FOUND; /* the indices in use may have gaps */
        } else {
            *mig_device = mock_mig_handle(mig);
        }
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceIsMigDeviceHandle(nvml_device device, unsigned int *is_mig) {
    mock_call call = mock_call_begin_any_handle("nvmlDeviceIsMigDeviceHandle", device);
    return mock_give_number(&call, call.mig != NULL, is_mig);
}

/* Begins a call that is about a MIG device and nothing else. */
static mock_call begin(const char *function, nvml_device device, const void *out) {
    mock_call call = mock_begin_filling_any(function, device, out);
    if (call.rc == NVML_OK && call.mig == NULL) {
        call.rc =
            call.device->mig == MOCK_MIG_NONE ? NVML_E_NOT_SUPPORTED : NVML_E_INVALID_ARGUMENT;
    }
    return call;
}

nvml_return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml_device mig_device,
                                                         nvml_device *device) {
    mock_call call = begin("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig_device, device);
    if (call.rc == NVML_OK) {
        *device = mock_device_handle(call.device);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetGpuInstanceId(nvml_device device, unsigned int *id) {
    mock_call call = begin("nvmlDeviceGetGpuInstanceId", device, id);
    return mock_give_number(&call, call.rc == NVML_OK ? (unsigned int)call.mig->gi : 0, id);
}

nvml_return nvmlDeviceGetComputeInstanceId(nvml_device device, unsigned int *id) {
    mock_call call = begin("nvmlDeviceGetComputeInstanceId", device, id);
    return mock_give_number(&call, call.rc == NVML_OK ? (unsigned int)call.mig->ci : 0, id);
}

nvml_return nvmlDeviceGetAttributes_v2(nvml_device device, nvml_device_attributes *attributes) {
    mock_call call = begin("nvmlDeviceGetAttributes_v2", device, attributes);
    if (call.rc == NVML_OK) {
        *attributes = (nvml_device_attributes){
            .multiprocessors = (unsigned int)call.mig->multiprocessors,
            .copy_engines = (unsigned int)call.mig->slices,
            .gpu_instance_slices = (unsigned int)call.mig->slices,
            .compute_instance_slices = (unsigned int)call.mig->compute_slices,
            .memory_mib = (unsigned long long)call.mig->mem_mib};
    }
    return mock_call_end(&call, call.rc);
}
