#include "api.h"

#include "call.h"

#include <stdio.h>
#include <string.h>

/* What WSL drivers of branch 555 gave as a name: bytes that are no UTF-8. */
static const char GARBAGE[] = "\xf8\xe2\x80\xff\xfe GPU";

/* Ends a call that returns text. */
static nvml_return give_text(mock_call *call, const char *text, char *out, unsigned int length) {
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

/* Ends a call that returns one unsigned number. */
static nvml_return give_number(mock_call *call, unsigned int number, unsigned int *out) {
    if (call->rc == NVML_OK && out == NULL) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call->rc == NVML_OK) {
        *out = number;
    }
    return mock_call_end(call, call->rc);
}

nvml_return nvmlDeviceGetName(nvml_device device, char *name, unsigned int length) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetName", device);
    const char *text = call.rc != NVML_OK          ? ""
                       : call.device->garbage_name ? GARBAGE
                                                   : call.device->name;
    return give_text(&call, text, name, length);
}

nvml_return nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned int length) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetUUID", device);
    return give_text(&call, call.rc == NVML_OK ? call.device->uuid : "", uuid, length);
}

nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned int *index) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetIndex", device);
    return give_number(&call, (unsigned int)call.index, index);
}

nvml_return nvmlDeviceIsMigDeviceHandle(nvml_device device, unsigned int *is_mig) {
    mock_call call = mock_call_begin_handle("nvmlDeviceIsMigDeviceHandle", device);
    return give_number(&call, 0, is_mig);
}

nvml_return nvmlDeviceGetAccountingMode(nvml_device device, unsigned int *mode) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetAccountingMode", device);
    return give_number(&call, NVML_MODE_DISABLED, mode);
}

nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, nvml_pci_info *pci) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetPciInfo_v3", device);
    if (call.rc == NVML_OK && pci == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        unsigned int bus = (unsigned int)call.index + 1;
        *pci = (nvml_pci_info){.bus = bus, .pci_device_id = 0x1eb810de};
        (void)snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", bus);
        (void)snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "0000:%02X:00.0", bus);
    }
    return mock_call_end(&call, call.rc);
}

/* Copies the processes that run now, as far as they fit; returns how many run. */
static unsigned int list_processes(const mock_call *call, nvml_process_info *infos,
                                   unsigned int capacity) {
    unsigned int running = 0;
    for (int64_t i = 0; i < call->scenario->process_count; i++) {
        const mock_process *p = &call->scenario->processes[i];
        if (p->device != call->index || call->t_ns < p->t0_ns || call->t_ns >= p->t1_ns) {
            continue;
        }
        if (running < capacity) {
            infos[running] = (nvml_process_info){
                .pid = (unsigned int)p->pid,
                .used_gpu_memory = (unsigned long long)p->mem_mib << 20,
                .gpu_instance_id = UINT32_MAX, /* not on MIG */
                .compute_instance_id = UINT32_MAX,
            };
        }
        running++;
    }
    return running;
}

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned int *count,
                                                    nvml_process_info *infos) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetComputeRunningProcesses_v3", device);
    if (call.rc == NVML_OK && (count == NULL || (*count > 0 && infos == NULL))) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        unsigned int capacity = *count;
        *count = list_processes(&call, infos, capacity);
        call.rc = *count > capacity ? NVML_E_INSUFFICIENT_SIZE : NVML_OK;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device device, unsigned int *count,
                                                     nvml_process_info *infos) {
    (void)infos; /* the list is always empty */
    mock_call call = mock_call_begin_handle("nvmlDeviceGetGraphicsRunningProcesses_v3", device);
    return give_number(&call, 0, count);
}
