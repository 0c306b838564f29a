#include "api.h"

#include "answer.h"

#include <stdio.h>
#include <string.h>

enum { CUDA_VERSION = 13000 };

nvml_return nvmlInit(void) {
    return mock_call_init("nvmlInit");
}

nvml_return nvmlInit_v2(void) {
    return mock_call_init("nvmlInit_v2");
}

nvml_return nvmlInitWithFlags(unsigned int flags) {
    (void)flags; /* none changes what the mock can show */
    return mock_call_init("nvmlInitWithFlags");
}

nvml_return nvmlShutdown(void) {
    return mock_call_shutdown("nvmlShutdown");
}

const char *nvmlErrorString(nvml_return code) {
    return mock_call_error_text(code);
}

/* Writes prefix and the driver's version into the caller's buffer. */
static nvml_return give_version(const mock_call *call, const char *prefix, char *out,
                                unsigned int length) {
    if (call->rc != NVML_OK) {
        return call->rc;
    }
    if (out == NULL) {
        return NVML_E_INVALID_ARGUMENT;
    }
    int n =
        snprintf(out, length, "%s%s", prefix,
                 call->scenario->garbage_driver ? MOCK_GARBAGE : call->scenario->driver_version);
    return n < 0 || (unsigned int)n >= length ? NVML_E_INSUFFICIENT_SIZE : NVML_OK;
}

nvml_return nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    mock_call call = mock_call_begin("nvmlSystemGetDriverVersion", MOCK_NO_DEVICE, NVML_OK);
    return mock_call_end(&call, give_version(&call, "", version, length));
}

nvml_return nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    mock_call call = mock_call_begin("nvmlSystemGetNVMLVersion", MOCK_NO_DEVICE, NVML_OK);
    return mock_call_end(&call, give_version(&call, "13.", version, length));
}

static nvml_return give_cuda_version(const char *function, int *version) {
    mock_call call = mock_call_begin(function, MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK && version == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        *version = CUDA_VERSION;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlSystemGetCudaDriverVersion(int *version) {
    return give_cuda_version("nvmlSystemGetCudaDriverVersion", version);
}

nvml_return nvmlSystemGetCudaDriverVersion_v2(int *version) {
    return give_cuda_version("nvmlSystemGetCudaDriverVersion_v2", version);
}

static nvml_return give_count(const char *function, unsigned int *count) {
    mock_call call = mock_call_begin(function, MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK && count == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        *count = (unsigned int)call.scenario->device_count;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetCount(unsigned int *count) {
    return give_count("nvmlDeviceGetCount", count);
}

nvml_return nvmlDeviceGetCount_v2(unsigned int *count) {
    return give_count("nvmlDeviceGetCount_v2", count);
}

/* Ends a call that looked a device up. */
static nvml_return give_handle(mock_call *call, nvml_device *device) {
    if (call->rc == NVML_OK && device == NULL) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call->rc == NVML_OK) {
        *device = call->mig != NULL ? mock_mig_handle(call->mig) : mock_device_handle(call->device);
    }
    return mock_call_end(call, call->rc);
}

nvml_return nvmlDeviceGetHandleByIndex(unsigned int index, nvml_device *device) {
    mock_call call = mock_call_begin("nvmlDeviceGetHandleByIndex", index, NVML_E_INVALID_ARGUMENT);
    return give_handle(&call, device);
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device) {
    mock_call call =
        mock_call_begin("nvmlDeviceGetHandleByIndex_v2", index, NVML_E_INVALID_ARGUMENT);
    return give_handle(&call, device);
}

nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device) {
    const mock_scenario *scenario = uuid == NULL ? NULL : mock_call_scenario();
    const mock_mig *mig = NULL;
    int64_t index = MOCK_UNKNOWN_DEVICE;
    for (int64_t i = 0; scenario != NULL && i < scenario->device_count; i++) {
        index = strcmp(scenario->devices[i].uuid, uuid) == 0 ? i : index;
    }
    for (int64_t i = 0; scenario != NULL && i < scenario->mig_count; i++) {
        if (strcmp(scenario->migs[i].uuid, uuid) == 0) {
            mig = &scenario->migs[i];
            index = mig->device;
        }
    }
    mock_call call = mock_call_begin_on("nvmlDeviceGetHandleByUUID", index, mig,
                                        uuid == NULL ? NVML_E_INVALID_ARGUMENT : NVML_E_NOT_FOUND);
    return give_handle(&call, device);
}
