/* NVML, loaded at run time. Only the helper process uses it. */
#ifndef PROBE_NVML_API_H
#define PROBE_NVML_API_H

#include "nvml_types.h"
#include "probe_status.h"
#include <stdbool.h>

/* Functions that a driver may lack are NULL. */
typedef struct {
    void *library; /* kept open: unloading a driver library at exit has hung programs */
    bool mock;     /* the library says that it is a mock driver */
    nvml_return (*init)(void);
    const char *(*error_string)(nvml_return);
    nvml_return (*driver_version)(char *, unsigned int);
    nvml_return (*count)(unsigned int *);
    nvml_return (*handle_by_index)(unsigned int, nvml_device *);
    nvml_return (*name)(nvml_device, char *, unsigned int);
    nvml_return (*uuid)(nvml_device, char *, unsigned int);
    nvml_return (*utilization)(nvml_device, nvml_utilization *);
    nvml_return (*samples)(nvml_device, int, unsigned long long, int *, unsigned int *,
                           nvml_sample *);
    nvml_return (*memory)(nvml_device, nvml_memory *);
    nvml_return (*memory_v2)(nvml_device, nvml_memory_v2 *);
    nvml_return (*energy)(nvml_device, unsigned long long *);
    nvml_return (*throttle)(nvml_device, unsigned long long *);
    nvml_return (*gpm_support)(nvml_device, nvml_gpm_support *);
    nvml_return (*gpm_alloc)(void **sample);
    nvml_return (*gpm_sample)(nvml_device, void *sample);
    nvml_return (*gpm_mig_sample)(nvml_device, unsigned int gi, void *sample);
    nvml_return (*gpm_metrics)(nvml_gpm_metrics *);
    nvml_return (*mig_mode)(nvml_device, unsigned int *current, unsigned int *pending);
    nvml_return (*mig_max)(nvml_device, unsigned int *);
    nvml_return (*mig_handle)(nvml_device, unsigned int index, nvml_device *);
    nvml_return (*mig_gi)(nvml_device, unsigned int *);
    nvml_return (*mig_ci)(nvml_device, unsigned int *);
    nvml_return (*attributes)(nvml_device, nvml_device_attributes *);
    nvml_return (*temperature)(nvml_device, int sensor, unsigned int *celsius);
    nvml_return (*temperature_v)(nvml_device, nvml_temperature *);
    nvml_return (*clock_info)(nvml_device, int clock, unsigned int *mhz);
    nvml_return (*power_limit)(nvml_device, unsigned int *milliwatts);
    nvml_return (*ecc_errors)(nvml_device, int type, int counter, unsigned long long *);
    nvml_return (*remapped_rows)(nvml_device, unsigned int *corrected, unsigned int *uncorrected,
                                 unsigned int *pending, unsigned int *failed);
    nvml_return (*retired_pending)(nvml_device, int *pending);
    nvml_return (*event_set_create)(void **set);
    nvml_return (*register_events)(nvml_device, unsigned long long types, void *set);
    nvml_return (*event_wait)(void *set, nvml_event_data *, unsigned int timeout_ms);
    nvml_return (*process_details)(nvml_device, nvml_process_detail_list *);
    /* By kind (NVML_PROCESSES_...) and version: _v3, _v2, the first. */
    nvml_return (*processes[NVML_PROCESS_KINDS][3])(nvml_device, unsigned int *, void *);
    nvml_return (*accounting_mode)(nvml_device, unsigned int *);
    nvml_return (*accounting_pids)(nvml_device, unsigned int *, unsigned int *);
    nvml_return (*accounting_stats)(nvml_device, unsigned int, nvml_accounting_stats *);
} nvml_api;

/* Loads the library: exactly the named one, or, with NULL, the driver's by its usual names and
 * places. Does not initialise NVML. The error's detail names what was tried. */
probe_status nvml_api_load(nvml_api *api, const char *library, probe_error *error);

#endif
