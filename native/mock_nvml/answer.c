#include "answer.h"

#include <string.h>

static mock_call need(mock_call call, const void *out) {
    if (call.rc == NVML_OK && out == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    return call;
}

mock_call mock_begin_filling(const char *function, nvml_device handle, const void *out) {
    return need(mock_call_begin_handle(function, handle), out);
}

mock_call mock_begin_filling_any(const char *function, nvml_device handle, const void *out) {
    return need(mock_call_begin_any_handle(function, handle), out);
}

nvml_return mock_give_text(mock_call *call, const char *text, char *out, unsigned int length) {
    if (call->rc == NVML_OK && out == NULL) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call->rc == NVML_OK && strlen(text) >= length) {
        call->rc = NVML_E_INSUFFICIENT_SIZE;
    }
    if (call->rc == NVML_OK) {
        memcpy(out, text, strlen(text) + 1);
    }
    return mock_call_end(call, call->rc);
}

nvml_return mock_give_endless(mock_call *call, char fill, char *out, unsigned int length) {
    if (call->rc == NVML_OK && out == NULL) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call->rc == NVML_OK) {
        memset(out, fill, length);
    }
    return mock_call_end(call, call->rc);
}

nvml_return mock_give_number(mock_call *call, unsigned int number, unsigned int *out) {
    if (call->rc == NVML_OK && out == NULL) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call->rc == NVML_OK) {
        *out = number;
    }
    return mock_call_end(call, call->rc);
}
