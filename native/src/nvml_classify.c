#include "nvml_classify.h"

nvml_class nvml_classify(nvml_return code) {
    switch (code) {
    case NVML_OK:
        return NVML_GOOD;
    case NVML_E_NOT_SUPPORTED:
    case NVML_E_FUNCTION_NOT_FOUND:
    case NVML_E_ARGUMENT_VERSION_MISMATCH:
        return NVML_FEATURE_ABSENT;
    case NVML_E_GPU_IS_LOST:
    case NVML_E_RESET_REQUIRED:
    case NVML_E_GPU_NOT_FOUND:
    case NVML_E_INVALID_STATE:
        return NVML_DEVICE_GONE;
    case NVML_E_UNINITIALIZED:
    case NVML_E_DRIVER_NOT_LOADED:
    case NVML_E_OPERATING_SYSTEM:
    case NVML_E_LIB_RM_VERSION_MISMATCH:
        return NVML_LIBRARY_GONE;
    default:
        return NVML_TRANSIENT;
    }
}
