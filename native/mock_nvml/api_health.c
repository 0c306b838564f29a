#include "api.h"

#include "answer.h"
#include "driver.h"
#include "health.h"

static unsigned int whole(const mock_call *call, mock_series_kind kind) {
    return (unsigned int)mock_whole(&call->device->series[kind], call->t_ns);
}

nvml_return nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned int *celsius) {
    mock_call call = mock_begin_filling("nvmlDeviceGetTemperature", device, celsius);
    if (call.rc == NVML_OK && sensor != 0) {
        call.rc = NVML_E_INVALID_ARGUMENT; /* NVML knows one sensor, the GPU's */
    }
    if (call.rc == NVML_OK) {
        *celsius = mock_temperature_c(call.device, call.t_ns);
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetTemperatureV(nvml_device device, nvml_temperature *temperature) {
    mock_call call = mock_begin_filling("nvmlDeviceGetTemperatureV", device, temperature);
    if (call.rc == NVML_OK && temperature->version != NVML_TEMPERATURE_VERSION) {
        call.rc = NVML_E_ARGUMENT_VERSION_MISMATCH;
    }
    if (call.rc == NVML_OK && temperature->sensor != 0) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        temperature->celsius = (int)mock_temperature_c(call.device, call.t_ns);
    }
    return mock_call_end(&call, call.rc);
}

enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEM, CLOCK_VIDEO };

/* Ends a call about a clock; 0 MHz: the scenario does not have it. */
static nvml_return give_clock(mock_call *call, int type, int64_t mhz, unsigned int *out) {
    if (call->rc == NVML_OK && (type < CLOCK_GRAPHICS || type > CLOCK_VIDEO)) {
        call->rc = NVML_E_INVALID_ARGUMENT;
    } else if (call->rc == NVML_OK && mhz == 0) {
        call->rc = NVML_E_NOT_SUPPORTED;
    }
    return mock_give_number(call, (unsigned int)mhz, out);
}

nvml_return nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned int *mhz) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetClockInfo", device);
    int64_t now = 0;
    if (call.rc == NVML_OK) {
        now = type == CLOCK_VIDEO ? call.device->video_mhz
              : type == CLOCK_MEM ? whole(&call, MOCK_CLOCK_MEM)
                                  : whole(&call, MOCK_CLOCK_SM);
    }
    return give_clock(&call, type, now, mhz);
}

nvml_return nvmlDeviceGetMaxClockInfo(nvml_device device, int type, unsigned int *mhz) {
    mock_call call = mock_call_begin_handle("nvmlDeviceGetMaxClockInfo", device);
    int64_t most = 0;
    if (call.rc == NVML_OK) {
        most = type == CLOCK_VIDEO ? call.device->video_mhz
               : type == CLOCK_MEM ? call.device->max_mem_mhz
                                   : call.device->max_sm_mhz;
    }
    return give_clock(&call, type, most, mhz);
}

enum { ECC_CORRECTED, ECC_UNCORRECTED };
enum { ECC_COUNTERS = 2, LOCATION_DRAM = 2, LOCATIONS = 8 };

/* Begins a call about errors of memory. */
static mock_call begin_ecc(const char *function, nvml_device device, int error, int counter,
                           const void *out) {
    mock_call call = mock_begin_filling(function, device, out);
    if (call.rc == NVML_OK && (error < ECC_CORRECTED || error > ECC_UNCORRECTED || counter < 0 ||
                               counter >= ECC_COUNTERS)) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK && !mock_has_ecc(call.device)) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    return call;
}

/* The driver was loaded at time 0: what it counted since is all there is. */
static unsigned int ecc_count(const mock_call *call, int error) {
    return whole(call, error == ECC_CORRECTED ? MOCK_ECC_SBE : MOCK_ECC_DBE);
}

nvml_return nvmlDeviceGetEccMode(nvml_device device, unsigned int *current, unsigned int *pending) {
    mock_call call = begin_ecc("nvmlDeviceGetEccMode", device, ECC_CORRECTED, 0, current);
    if (call.rc == NVML_OK && pending == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        *current = *pending = 1;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetTotalEccErrors(nvml_device device, int error, int counter,
                                        unsigned long long *count) {
    mock_call call = begin_ecc("nvmlDeviceGetTotalEccErrors", device, error, counter, count);
    if (call.rc == NVML_OK) {
        *count = ecc_count(&call, error);
    }
    return mock_call_end(&call, call.rc);
}

/* All errors are in the device's memory. */
nvml_return nvmlDeviceGetMemoryErrorCounter(nvml_device device, int error, int counter,
                                            int location, unsigned long long *count) {
    mock_call call = begin_ecc("nvmlDeviceGetMemoryErrorCounter", device, error, counter, count);
    if (call.rc == NVML_OK && (location < 0 || location >= LOCATIONS)) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        *count = location == LOCATION_DRAM ? ecc_count(&call, error) : 0;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetRemappedRows(nvml_device device, unsigned int *corrected,
                                      unsigned int *uncorrected, unsigned int *pending,
                                      unsigned int *failed) {
    mock_call call = mock_begin_filling("nvmlDeviceGetRemappedRows", device, corrected);
    if (call.rc == NVML_OK && (uncorrected == NULL || pending == NULL || failed == NULL)) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK && !mock_has_rows(call.device)) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    if (call.rc == NVML_OK) {
        *corrected = (unsigned int)call.device->remapped_corrected;
        *uncorrected = whole(&call, MOCK_REMAPPED);
        *pending = (unsigned int)call.device->remap_pending;
        *failed = (unsigned int)call.device->remap_failed;
    }
    return mock_call_end(&call, call.rc);
}

/* Pages are retired for uncorrected errors only; the addresses mean nothing. */
static nvml_return give_pages(const char *function, nvml_device device, int cause,
                              unsigned int *count, unsigned long long *addresses,
                              unsigned long long *stamps_us) {
    mock_call call = mock_begin_filling(function, device, count);
    if (call.rc == NVML_OK &&
        (cause < 0 || cause > ECC_UNCORRECTED || (*count > 0 && addresses == NULL))) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK && call.device->series[MOCK_RETIRED].count == 0) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    if (call.rc == NVML_OK) {
        unsigned int pages = cause == ECC_UNCORRECTED ? whole(&call, MOCK_RETIRED) : 0;
        call.rc = pages > *count ? NVML_E_INSUFFICIENT_SIZE : NVML_OK;
        for (unsigned int i = 0; call.rc == NVML_OK && i < pages; i++) {
            addresses[i] = (i + 1ULL) << 16;
            if (stamps_us != NULL) {
                stamps_us[i] = (unsigned long long)call.wall_us;
            }
        }
        *count = pages;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceGetRetiredPages(nvml_device device, int cause, unsigned int *count,
                                      unsigned long long *addresses) {
    return give_pages("nvmlDeviceGetRetiredPages", device, cause, count, addresses, NULL);
}

nvml_return nvmlDeviceGetRetiredPages_v2(nvml_device device, int cause, unsigned int *count,
                                         unsigned long long *addresses,
                                         unsigned long long *timestamps_us) {
    return give_pages("nvmlDeviceGetRetiredPages_v2", device, cause, count, addresses,
                      timestamps_us);
}
