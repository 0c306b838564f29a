#include "api.h"

#include "answer.h"
#include "scenario_lines.h"

#include <string.h>

static nvml_return give_count(const char *function, unsigned int *count) {
    mock_call call = mock_call_begin(function, MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK && count == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        *count = (unsigned int)call.scenario->device_count;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetCount(unsigned int *count) {
    return give_count("nvmlDeviceGetCount", count);
}

nvml_return nvmlDeviceGetCount_v2(unsigned int *count) {
    return give_count("nvmlDeviceGetCount_v2", count);
}

/* Ends a call that looked a device up. */
static nvml_return give_handle(mock_call *call, nvml_device *device) {
    if (call->rc == NVML_OK && device == NULL) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call->rc == NVML_OK) {
        *device = call->mig != NULL ? mock_mig_handle(call->mig) : mock_device_handle(call->device);
    }
    return mock_call_end(call, call->rc);
}

nvml_return nvmlDeviceGetHandleByIndex(unsigned int index, nvml_device *device) {
    mock_call call = mock_call_begin("nvmlDeviceGetHandleByIndex", index, NVML_E_INVALID_ARGUMENT);
    return give_handle(&call, device);
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device) {
    mock_call call =
        mock_call_begin("nvmlDeviceGetHandleByIndex_v2", index, NVML_E_INVALID_ARGUMENT);
    return give_handle(&call, device);
}

/* The devices, and the instances, that one of these tests is true of. */
typedef bool (*is_device)(const mock_device *device, const char *text);
typedef bool (*is_mig)(const mock_mig *mig, const char *text);

/* A lookup by text: the whole call. Without such a device it is NOT_FOUND. */
static nvml_return find(const char *function, const char *text, is_device device_is, is_mig mig_is,
                        nvml_device *handle) {
    const mock_scenario *scenario = text == NULL ? NULL : mock_call_scenario();
    const mock_mig *mig = NULL;
    int64_t index = MOCK_UNKNOWN_DEVICE;
    for (int64_t i = 0; scenario != NULL && i < scenario->device_count; i++) {
        index = device_is(&scenario->devices[i], text) ? i : index;
    }
    for (int64_t i = 0; scenario != NULL && mig_is != NULL && i < scenario->mig_count; i++) {
        if (mig_is(&scenario->migs[i], text)) {
            mig = &scenario->migs[i];
            index = mig->device;
        }
    }
    mock_call call = mock_call_begin_on(function, index, mig,
                                        text == NULL ? NVML_E_INVALID_ARGUMENT : NVML_E_NOT_FOUND);
    return give_handle(&call, handle);
}

static bool device_has_uuid(const mock_device *device, const char *text) {
    return strcmp(device->uuid, text) == 0;
}

static bool mig_has_uuid(const mock_mig *mig, const char *text) {
    return strcmp(mig->uuid, text) == 0;
}

static bool device_has_serial(const mock_device *device, const char *text) {
    return device->serial[0] != '\0' && strcmp(device->serial, text) == 0;
}

static bool device_has_bus_id(const mock_device *device, const char *text) {
    int64_t domain, bus, number;
    return mock_parse_pci(text, &domain, &bus, &number) && domain == device->pci_domain &&
           bus == device->pci_bus && number == device->pci_device;
}

nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device) {
    return find("nvmlDeviceGetHandleByUUID", uuid, device_has_uuid, mig_has_uuid, device);
}

nvml_return nvmlDeviceGetHandleBySerial(const char *serial, nvml_device *device) {
    return find("nvmlDeviceGetHandleBySerial", serial, device_has_serial, NULL, device);
}

nvml_return nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvml_device *device) {
    return find("nvmlDeviceGetHandleByPciBusId", bus_id, device_has_bus_id, NULL, device);
}

nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device *device) {
    return find("nvmlDeviceGetHandleByPciBusId_v2", bus_id, device_has_bus_id, NULL, device);
}
