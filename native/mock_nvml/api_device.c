#include "api.h"

#include "answer.h"

#include <stdio.h>

nvml_return nvmlDeviceGetName(nvml_device device, char *name, unsigned int length) {
    mock_call call = mock_call_begin_any_handle("nvmlDeviceGetName", device);
    const char *text = call.rc != NVML_OK          ? ""
                       : call.device->garbage_name ? MOCK_GARBAGE
                       : call.mig != NULL          ? call.mig->name
                                                   : call.device->name;
    return mock_give_text(&call, text, name, length);
}

nvml_return nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned int length) {
    mock_call call = mock_call_begin_any_handle("nvmlDeviceGetUUID", device);
    const char *text = call.rc != NVML_OK ? ""
                       : call.mig != NULL ? call.mig->uuid
                                          : call.device->uuid;
    return mock_give_text(&call, text, uuid, length);
}

nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned int *index) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetIndex", device);
    return mock_give_number(&call, (unsigned int)call.index, index);
}

nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, nvml_pci_info *pci) {
    mock_call call = mock_begin_filling("nvmlDeviceGetPciInfo_v3", device, pci);
    if (call.rc == NVML_OK) {
        unsigned int bus = (unsigned int)call.index + 1;
        *pci = (nvml_pci_info){.bus = bus, .pci_device_id = 0x1eb810de};
        (void)snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", bus);
        (void)snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "0000:%02X:00.0", bus);
    }
    return mock_call_end(&call, call.rc);
}
