#include "codes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    nvml_return code;
    const char *name, *text;
} CODES[] = {
    {NVML_OK, "SUCCESS", "Success"},
    {NVML_E_UNINITIALIZED, "UNINITIALIZED", "Uninitialized"},
    {NVML_E_INVALID_ARGUMENT, "INVALID_ARGUMENT", "Invalid Argument"},
    {NVML_E_NOT_SUPPORTED, "NOT_SUPPORTED", "Not Supported"},
    {NVML_E_NO_PERMISSION, "NO_PERMISSION", "Insufficient Permissions"},
    {5, "ALREADY_INITIALIZED", "Already Initialized"},
    {NVML_E_NOT_FOUND, "NOT_FOUND", "Not Found"},
    {NVML_E_INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE", "Insufficient Size"},
    {8, "INSUFFICIENT_POWER", "Insufficient External Power"},
    {NVML_E_DRIVER_NOT_LOADED, "DRIVER_NOT_LOADED", "Driver Not Loaded"},
    {NVML_E_TIMEOUT, "TIMEOUT", "Timeout"},
    {NVML_E_IRQ_ISSUE, "IRQ_ISSUE", "Interrupt Request Issue"},
    {NVML_E_LIBRARY_NOT_FOUND, "LIBRARY_NOT_FOUND", "NVML Shared Library Not Found"},
    {NVML_E_FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND", "Function Not Found"},
    {14, "CORRUPTED_INFOROM", "Corrupted infoROM"},
    {NVML_E_GPU_IS_LOST, "GPU_IS_LOST", "GPU is lost"},
    {NVML_E_RESET_REQUIRED, "RESET_REQUIRED", "GPU requires reset"},
    {NVML_E_OPERATING_SYSTEM, "OPERATING_SYSTEM", "GPU access blocked by the operating system"},
    {NVML_E_LIB_RM_VERSION_MISMATCH, "LIB_RM_VERSION_MISMATCH", "Driver/library version mismatch"},
    {NVML_E_IN_USE, "IN_USE", "In use by another client"},
    {NVML_E_MEMORY, "MEMORY", "Insufficient Memory"},
    {NVML_E_NO_DATA, "NO_DATA", "No data"},
    {NVML_E_ARGUMENT_VERSION_MISMATCH, "ARGUMENT_VERSION_MISMATCH", "Argument version mismatch"},
    {27, "NOT_READY", "Not ready"},
    {NVML_E_GPU_NOT_FOUND, "GPU_NOT_FOUND", "GPU not found"},
    {NVML_E_INVALID_STATE, "INVALID_STATE", "Invalid state"},
    {NVML_E_UNKNOWN, "UNKNOWN", "Unknown Error"},
};
enum { CODE_COUNT = sizeof CODES / sizeof CODES[0] };

const char *mock_code_text(nvml_return code) {
    for (size_t i = 0; i < CODE_COUNT; i++) {
        if (CODES[i].code == code) {
            return CODES[i].text;
        }
    }
    return "Unknown Error";
}

bool mock_code_parse(const char *text, nvml_return *code) {
    static const char PREFIX[] = "NVML_ERROR_";
    if (text[0] >= '0' && text[0] <= '9') {
        char *end = NULL;
        long number = strtol(text, &end, 10);
        *code = (nvml_return)number;
        return *end == '\0' && number >= 1 && number <= 999;
    }
    if (strncmp(text, PREFIX, sizeof PREFIX - 1) == 0) {
        text += sizeof PREFIX - 1;
    }
    for (size_t i = 1; i < CODE_COUNT; i++) { /* a failure with SUCCESS would be none */
        if (strcmp(text, CODES[i].name) == 0) {
            *code = CODES[i].code;
            return true;
        }
    }
    return false;
}
