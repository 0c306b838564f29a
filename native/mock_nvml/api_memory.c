#include "api.h"

#include "answer.h"
#include "driver.h"
#include "profile.h"

static unsigned long long mib(int64_t number) {
    return (unsigned long long)number << 20;
}

/* What a driver should say, in the terms of the second version. */
static nvml_memory_v2 honest(const mock_call *call) {
    const mock_mig *mig = call->mig;
    const mock_series *used = mig != NULL ? mig->series : call->device->series;
    nvml_memory_v2 memory = {.version = NVML_MEMORY_V2_VERSION,
                             .total = mib(mig != NULL ? mig->mem_mib : call->device->mem_mib),
                             .reserved = mig != NULL ? 0 : mib(call->device->reserved_mib),
                             .used = mock_memory_used(&used[MOCK_MEM], call->t_ns)};
    memory.free = memory.total - memory.reserved - memory.used;
    return memory;
}

/* What some drivers say instead. */
static void spoil(nvml_memory_v2 *memory, int64_t fault) {
    const unsigned long long ones = NVML_VALUE_NOT_AVAILABLE;
    if (fault == MOCK_MEMORY_FREE_0) {
        memory->free = 0;
    } else if (fault == MOCK_MEMORY_OVER) {
        memory->used += memory->total;
    } else if (fault == MOCK_MEMORY_TOTAL_0) {
        memory->total = memory->free = 0;
    } else if (fault == MOCK_MEMORY_ALL_ONES) {
        memory->total = memory->reserved = memory->free = memory->used = ones;
    }
}

static mock_call begin(const char *function, nvml_device device, const void *out) {
    mock_call call = mock_begin_filling_any(function, device, out);
    if (call.rc == NVML_OK && call.mig == NULL && call.device->mig == MOCK_MIG_ON &&
        call.device->mig_parent_memory == 0) {
        call.rc = NVML_E_NO_PERMISSION;
    }
    return call;
}

/* Since driver branch 510, "used" of the first version counts what the driver reserves. */
nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, nvml_memory *memory) {
    mock_call call = begin("nvmlDeviceGetMemoryInfo", device, memory);
    if (call.rc == NVML_OK) {
        nvml_memory_v2 answer = honest(&call);
        answer.used += mock_profile_built.v1_counts_reserved ? answer.reserved : 0;
        spoil(&answer, call.device->memory_v1);
        *memory = (nvml_memory){answer.total, answer.free, answer.used};
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, nvml_memory_v2 *memory) {
    mock_call call = begin("nvmlDeviceGetMemoryInfo_v2", device, memory);
    if (call.rc == NVML_OK && memory->version != NVML_MEMORY_V2_VERSION) {
        call.rc = NVML_E_FUNCTION_NOT_FOUND; /* so drivers answer, rather than code 25 */
    }
    if (call.rc == NVML_OK) {
        *memory = honest(&call);
        spoil(memory, call.device->memory_v2);
    }
    return mock_call_end(&call, call.rc);
}
