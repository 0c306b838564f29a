#include "api.h"

#include "answer.h"
#include "processes.h"

#include <string.h>

static mock_process_query query_of(const mock_call *call) {
    return (mock_process_query){.scenario = call->scenario,
                                .device = call->index,
                                .mig = call->mig,
                                .t_ns = call->t_ns,
                                .base_us = call->base_us};
}

/* The three record layouts are prefixes of the longest: its fields come in the same order. */
static void store(void *out, size_t stride, const nvml_process_detail *records,
                  unsigned int count) {
    for (unsigned int i = 0; i < count; i++) {
        memcpy((char *)out + i * stride, &records[i], stride);
    }
}

/* A list in records of stride bytes; 0: as long as the scenario's driver has them. As in NVML, the
 * caller's *count says how many records fit, and a driver whose records are longer than the caller
 * thinks writes on. */
static nvml_return list(const char *function, nvml_device device, unsigned int kind, size_t stride,
                        unsigned int *count, void *out) {
    mock_call call = mock_begin_filling_any(function, device, count);
    if (call.rc == NVML_OK && *count > 0 && out == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        nvml_process_detail records[MOCK_RECORDS_MAX];
        mock_process_query query = query_of(&call);
        unsigned int running = mock_process_list(&query, kind, records, MOCK_RECORDS_MAX);
        if (running > *count) {
            call.rc = NVML_E_INSUFFICIENT_SIZE;
        } else {
            store(out, stride > 0 ? stride : (size_t)call.scenario->process_stride, records,
                  running);
        }
        *count = running;
    }
    return mock_call_end(&call, call.rc);
}

/* The same list in the three versions of the function. */
#define LISTS(name, kind)                                                                          \
    nvml_return name(nvml_device device, unsigned int *count, nvml_process_info_v1 *infos) {       \
        return list(#name, device, kind, sizeof *infos, count, infos);                             \
    }                                                                                              \
    nvml_return name##_v2(nvml_device device, unsigned int *count, nvml_process_info *infos) {     \
        return list(#name "_v2", device, kind, sizeof *infos, count, infos);                       \
    }                                                                                              \
    nvml_return name##_v3(nvml_device device, unsigned int *count, nvml_process_info *infos) {     \
        return list(#name "_v3", device, kind, 0, count, infos);                                   \
    }

LISTS(nvmlDeviceGetComputeRunningProcesses, NVML_PROCESSES_COMPUTE)
LISTS(nvmlDeviceGetGraphicsRunningProcesses, NVML_PROCESSES_GRAPHICS)
LISTS(nvmlDeviceGetMPSComputeRunningProcesses, NVML_PROCESSES_MPS)

nvml_return nvmlDeviceGetRunningProcessDetailList(nvml_device device,
                                                  nvml_process_detail_list *details) {
    mock_call call =
        mock_begin_filling_any("nvmlDeviceGetRunningProcessDetailList", device, details);
    if (call.rc == NVML_OK && details->version != NVML_PROCESS_DETAIL_LIST_VERSION) {
        call.rc = NVML_E_ARGUMENT_VERSION_MISMATCH;
    }
    if (call.rc == NVML_OK && details->mode > NVML_PROCESSES_MPS) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        unsigned int capacity = details->processes == NULL ? 0 : details->count;
        mock_process_query query = query_of(&call);
        details->count = mock_process_list(&query, details->mode, details->processes, capacity);
        call.rc = details->count > capacity ? NVML_E_INSUFFICIENT_SIZE : NVML_OK;
    }
    return mock_call_end(&call, call.rc);
}

/* The records for a caller with room for *count of them. Without a buffer, or with too small a one,
 * *count becomes the size of the driver's buffer, which has nothing to do with who runs. */
static nvml_return utilization(const mock_call *call, unsigned long long last_seen_us, bool buffer,
                               unsigned int *count, nvml_process_sample *records) {
    if (call->device->mig == MOCK_MIG_ON) {
        return NVML_E_NOT_SUPPORTED;
    }
    mock_process_query query = query_of(call);
    unsigned int found = mock_process_utilization(&query, last_seen_us, records);
    unsigned int slots = found > MOCK_UTILIZATION_SLOTS ? found : MOCK_UTILIZATION_SLOTS;
    bool fits = buffer && found <= *count;
    *count = fits ? found : slots;
    return !fits ? NVML_E_INSUFFICIENT_SIZE : found == 0 ? NVML_E_NOT_FOUND : NVML_OK;
}

nvml_return nvmlDeviceGetProcessUtilization(nvml_device device, nvml_process_sample *samples,
                                            unsigned int *count, unsigned long long last_seen_us) {
    mock_call call = mock_begin_filling("nvmlDeviceGetProcessUtilization", device, count);
    nvml_process_sample records[MOCK_RECORDS_MAX];
    if (call.rc == NVML_OK) {
        call.rc = utilization(&call, last_seen_us, samples != NULL, count, records);
    }
    if (call.rc == NVML_OK) {
        memcpy(samples, records, *count * sizeof *records);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetProcessesUtilizationInfo(nvml_device device,
                                                  nvml_processes_utilization *info) {
    mock_call call = mock_begin_filling("nvmlDeviceGetProcessesUtilizationInfo", device, info);
    nvml_process_sample records[MOCK_RECORDS_MAX];
    if (call.rc == NVML_OK && info->version != NVML_PROCESSES_UTILIZATION_VERSION) {
        call.rc = NVML_E_ARGUMENT_VERSION_MISMATCH;
    }
    if (call.rc == NVML_OK) {
        call.rc =
            utilization(&call, info->last_seen_us, info->processes != NULL, &info->count, records);
    }
    for (unsigned int i = 0; call.rc == NVML_OK && i < info->count; i++) {
        info->processes[i] = (nvml_process_utilization){.timestamp_us = records[i].timestamp_us,
                                                        .pid = records[i].pid,
                                                        .sm = records[i].sm,
                                                        .memory = records[i].memory};
    }
    return mock_call_end(&call, call.rc);
}
