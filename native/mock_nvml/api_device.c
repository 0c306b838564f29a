#include "api.h"

#include "answer.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

nvml_return nvmlDeviceGetName(nvml_device device, char *name, unsigned int length) {
    mock_call call = mock_call_begin_any_handle("nvmlDeviceGetName", device);
    if (call.rc == NVML_OK && call.device->garbage_endless) {
        return mock_give_endless(&call, call.device->name[0], name, length);
    }
    const char *text = call.rc != NVML_OK          ? ""
                       : call.device->garbage_name ? MOCK_GARBAGE
                       : call.mig != NULL          ? call.mig->name
                                                   : call.device->name;
    return mock_give_text(&call, text, name, length);
}

nvml_return nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned int length) {
    mock_call call = mock_call_begin_any_handle("nvmlDeviceGetUUID", device);
    if (call.rc == NVML_OK && call.device->garbage_endless) {
        return mock_give_endless(&call, call.device->uuid[0], uuid, length);
    }
    const char *text = call.rc != NVML_OK ? ""
                       : call.mig != NULL ? call.mig->uuid
                                          : call.device->uuid;
    return mock_give_text(&call, text, uuid, length);
}

nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned int *index) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetIndex", device);
    return mock_give_number(&call, (unsigned int)call.index, index);
}

/* Fills the first size bytes of the newest structure: the older ones end earlier. */
static nvml_return give_pci(const char *function, nvml_device device, void *out, size_t size) {
    mock_call call = mock_begin_filling(function, device, out);
    if (call.rc == NVML_OK) {
        nvml_pci_info pci = {.domain = (unsigned int)call.device->pci_domain,
                             .bus = (unsigned int)call.device->pci_bus,
                             .device = (unsigned int)call.device->pci_device,
                             .pci_device_id = 0x1eb810de};
        (void)snprintf(pci.bus_id, sizeof pci.bus_id, "%08X:%02X:%02X.0", pci.domain, pci.bus,
                       pci.device);
        (void)snprintf(pci.bus_id_legacy, sizeof pci.bus_id_legacy, "%04X:%02X:%02X.0",
                       pci.domain & 0xffff, pci.bus, pci.device);
        memcpy(out, &pci, size);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetPciInfo(nvml_device device, void *pci) {
    return give_pci("nvmlDeviceGetPciInfo", device, pci, offsetof(nvml_pci_info, pci_subsystem_id));
}

nvml_return nvmlDeviceGetPciInfo_v2(nvml_device device, void *pci) {
    return give_pci("nvmlDeviceGetPciInfo_v2", device, pci, offsetof(nvml_pci_info, bus_id));
}

nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, nvml_pci_info *pci) {
    return give_pci("nvmlDeviceGetPciInfo_v3", device, pci, sizeof *pci);
}

/* Ends a call about a number that not every device has; negative: it does not. */
static nvml_return give_optional(mock_call *call, int64_t number, unsigned int *out) {
    if (call->rc == NVML_OK && number < 0) {
        call->rc = NVML_E_NOT_SUPPORTED;
    }
    return mock_give_number(call, (unsigned int)number, out);
}

nvml_return nvmlDeviceGetMinorNumber(nvml_device device, unsigned int *minor) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetMinorNumber", device);
    return give_optional(&call, call.rc == NVML_OK ? call.device->minor : 0, minor);
}

nvml_return nvmlDeviceGetNumaNodeId(nvml_device device, unsigned int *node) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetNumaNodeId", device);
    return give_optional(&call, call.rc == NVML_OK ? call.device->numa : 0, node);
}

nvml_return nvmlDeviceGetArchitecture(nvml_device device, unsigned int *architecture) {
    enum { KEPLER = 2 };
    mock_call call = mock_call_begin_handle("nvmlDeviceGetArchitecture", device);
    int64_t arch = call.rc == NVML_OK ? call.device->arch : 0;
    return give_optional(&call, arch < 0 ? arch : arch + KEPLER, architecture);
}

nvml_return nvmlDeviceGetSerial(nvml_device device, char *serial, unsigned int length) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetSerial", device);
    if (call.rc == NVML_OK && call.device->serial[0] == '\0') {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    return mock_give_text(&call, call.rc == NVML_OK ? call.device->serial : "", serial, length);
}

nvml_return nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor) {
    mock_call call = mock_begin_filling("nvmlDeviceGetCudaComputeCapability", device, major);
    if (call.rc == NVML_OK && minor == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK && call.device->compute_micro == 0) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    if (call.rc == NVML_OK) {
        *major = (int)(call.device->compute_micro / MOCK_MICRO);
        *minor = (int)(call.device->compute_micro % MOCK_MICRO * 10 / MOCK_MICRO);
    }
    return mock_call_end(&call, call.rc);
}
