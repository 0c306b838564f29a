#include "api.h"

#include "accounting.h"
#include "answer.h"

enum { BUFFER_SIZE = 4000 }; /* processes that the driver remembers: 3872 alive and 128 ended */

nvml_return nvmlDeviceGetAccountingMode(nvml_device device, unsigned int *mode) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetAccountingMode", device);
    if (call.rc == NVML_OK && call.device->mig == MOCK_MIG_ON) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    unsigned int on = call.rc == NVML_OK ? (unsigned int)call.device->accounting : 0;
    return mock_give_number(&call, on, mode);
}

nvml_return nvmlDeviceGetAccountingBufferSize(nvml_device device, unsigned int *size) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetAccountingBufferSize", device);
    return mock_give_number(&call, BUFFER_SIZE, size);
}

/* Begins a call that needs the mode to be on. */
static mock_call begin(const char *function, nvml_device device, const void *out) {
    mock_call call = mock_begin_filling(function, device, out);
    if (call.rc == NVML_OK && (call.device->accounting == 0 || call.device->mig == MOCK_MIG_ON)) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    return call;
}

static mock_process_query query_of(const mock_call *call) {
    return (mock_process_query){
        .scenario = call->scenario, .device = call->index, .t_ns = call->t_ns};
}

nvml_return nvmlDeviceGetAccountingPids(nvml_device device, unsigned int *count,
                                        unsigned int *pids) {
    mock_call call = begin("nvmlDeviceGetAccountingPids", device, count);
    if (call.rc == NVML_OK && *count > 0 && pids == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        mock_process_query query = query_of(&call);
        unsigned int capacity = *count;
        *count = mock_accounting_pids(&query, pids, capacity);
        call.rc = *count > capacity ? NVML_E_INSUFFICIENT_SIZE : NVML_OK;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetAccountingStats(nvml_device device, unsigned int pid,
                                         nvml_accounting_stats *stats) {
    mock_call call = begin("nvmlDeviceGetAccountingStats", device, stats);
    if (call.rc == NVML_OK) {
        mock_process_query query = query_of(&call);
        nvml_accounting_stats found;
        if (mock_accounting_stats(&query, pid, &found)) {
            found.start_time_us += (unsigned long long)call.wall_us;
            *stats = found;
        } else {
            call.rc = NVML_E_NOT_FOUND;
        }
    }
    return mock_call_end(&call, call.rc);
}
