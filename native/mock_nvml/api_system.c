#include "api.h"

#include "answer.h"

#include <stdio.h>

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
        *version = (int)call.scenario->cuda_version;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlSystemGetCudaDriverVersion(int *version) {
    return give_cuda_version("nvmlSystemGetCudaDriverVersion", version);
}

nvml_return nvmlSystemGetCudaDriverVersion_v2(int *version) {
    return give_cuda_version("nvmlSystemGetCudaDriverVersion_v2", version);
}
