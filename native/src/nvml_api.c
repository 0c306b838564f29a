#include "nvml_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Newest name first. Required: there since the 352 branch, so that a library without them is no
 * driver. */
static const struct {
    size_t slot;
    bool required;
    const char *names[3];
} symbols[] = {
    {offsetof(nvml_api, init), true, {"nvmlInit_v2", "nvmlInit", NULL}},
    {offsetof(nvml_api, error_string), true, {"nvmlErrorString", NULL}},
    {offsetof(nvml_api, driver_version), true, {"nvmlSystemGetDriverVersion", NULL}},
    {offsetof(nvml_api, count), true, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", NULL}},
    {offsetof(nvml_api, handle_by_index),
     true,
     {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", NULL}},
    {offsetof(nvml_api, name), true, {"nvmlDeviceGetName", NULL}},
    {offsetof(nvml_api, uuid), true, {"nvmlDeviceGetUUID", NULL}},
    {offsetof(nvml_api, utilization), true, {"nvmlDeviceGetUtilizationRates", NULL}},
    {offsetof(nvml_api, samples), false, {"nvmlDeviceGetSamples", NULL}},
    {offsetof(nvml_api, memory), true, {"nvmlDeviceGetMemoryInfo", NULL}},
    {offsetof(nvml_api, memory_v2), false, {"nvmlDeviceGetMemoryInfo_v2", NULL}},
    {offsetof(nvml_api, energy), false, {"nvmlDeviceGetTotalEnergyConsumption", NULL}},
    {offsetof(nvml_api, throttle),
     false,
     {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", NULL}},
    {offsetof(nvml_api, gpm_support), false, {"nvmlGpmQueryDeviceSupport", NULL}},
    {offsetof(nvml_api, gpm_alloc), false, {"nvmlGpmSampleAlloc", NULL}},
    {offsetof(nvml_api, gpm_sample), false, {"nvmlGpmSampleGet", NULL}},
    {offsetof(nvml_api, gpm_mig_sample), false, {"nvmlGpmMigSampleGet", NULL}},
    {offsetof(nvml_api, gpm_metrics), false, {"nvmlGpmMetricsGet", NULL}},
    {offsetof(nvml_api, mig_mode), false, {"nvmlDeviceGetMigMode", NULL}},
    {offsetof(nvml_api, mig_max), false, {"nvmlDeviceGetMaxMigDeviceCount", NULL}},
    {offsetof(nvml_api, mig_handle), false, {"nvmlDeviceGetMigDeviceHandleByIndex", NULL}},
    {offsetof(nvml_api, mig_gi), false, {"nvmlDeviceGetGpuInstanceId", NULL}},
    {offsetof(nvml_api, mig_ci), false, {"nvmlDeviceGetComputeInstanceId", NULL}},
    {offsetof(nvml_api, attributes),
     false,
     {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes", NULL}},
    {offsetof(nvml_api, temperature), false, {"nvmlDeviceGetTemperature", NULL}},
    {offsetof(nvml_api, temperature_v), false, {"nvmlDeviceGetTemperatureV", NULL}},
    {offsetof(nvml_api, clock_info), false, {"nvmlDeviceGetClockInfo", NULL}},
    {offsetof(nvml_api, power_limit), false, {"nvmlDeviceGetEnforcedPowerLimit", NULL}},
    {offsetof(nvml_api, ecc_errors), false, {"nvmlDeviceGetTotalEccErrors", NULL}},
    {offsetof(nvml_api, remapped_rows), false, {"nvmlDeviceGetRemappedRows", NULL}},
    {offsetof(nvml_api, retired_pending), false, {"nvmlDeviceGetRetiredPagesPendingStatus", NULL}},
    {offsetof(nvml_api, event_set_create), false, {"nvmlEventSetCreate", NULL}},
    {offsetof(nvml_api, register_events), false, {"nvmlDeviceRegisterEvents", NULL}},
    {offsetof(nvml_api, event_wait), false, {"nvmlEventSetWait_v2", "nvmlEventSetWait", NULL}},
    {offsetof(nvml_api, process_details), false, {"nvmlDeviceGetRunningProcessDetailList", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_COMPUTE][0]),
     false,
     {"nvmlDeviceGetComputeRunningProcesses_v3", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_COMPUTE][1]),
     false,
     {"nvmlDeviceGetComputeRunningProcesses_v2", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_COMPUTE][2]),
     false,
     {"nvmlDeviceGetComputeRunningProcesses", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_GRAPHICS][0]),
     false,
     {"nvmlDeviceGetGraphicsRunningProcesses_v3", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_GRAPHICS][1]),
     false,
     {"nvmlDeviceGetGraphicsRunningProcesses_v2", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_GRAPHICS][2]),
     false,
     {"nvmlDeviceGetGraphicsRunningProcesses", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_MPS][0]),
     false,
     {"nvmlDeviceGetMPSComputeRunningProcesses_v3", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_MPS][1]),
     false,
     {"nvmlDeviceGetMPSComputeRunningProcesses_v2", NULL}},
    {offsetof(nvml_api, processes[NVML_PROCESSES_MPS][2]),
     false,
     {"nvmlDeviceGetMPSComputeRunningProcesses", NULL}},
    {offsetof(nvml_api, accounting_mode), false, {"nvmlDeviceGetAccountingMode", NULL}},
    {offsetof(nvml_api, accounting_pids), false, {"nvmlDeviceGetAccountingPids", NULL}},
    {offsetof(nvml_api, accounting_stats), false, {"nvmlDeviceGetAccountingStats", NULL}},
};

/* Where containers, WSL and distributions keep the library outside the loader's path. */
static const char *const places[] = {
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/nvidia/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/tegra/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/nvidia/current/libnvidia-ml.so.1",
    "/usr/lib64/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
};

/* WSL's, where /usr/lib/wsl/lib has not been filled. */
static const char wsl_drivers[] = "/usr/lib/wsl/drivers/*/libnvidia-ml.so.1";

static probe_status resolve(nvml_api *api, probe_error *error) {
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = NULL;
        for (const char *const *name = symbols[i].names; symbol == NULL && *name != NULL; name++) {
            symbol = dlsym(api->library, *name);
        }
        if (symbol == NULL && symbols[i].required) {
            return probe_fail_detail(error, PROBE_E_DRIVER, 0, "the NVML library lacks a function",
                                     symbols[i].names[0]);
        }
        /* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that
         * the bits are the same. */
        memcpy((char *)api + symbols[i].slot, &symbol, sizeof symbol);
    }
    api->mock = dlsym(api->library, "nvmlMockVersion") != NULL;
    return PROBE_OK;
}

static bool lies_in_stubs(const char *path) {
    static const char name[] = "stubs";
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        size_t length = strcspn(at, "/");
        if (length == sizeof name - 1 && strncmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The CUDA toolkit's link-time stub answers every call with an error, after printing a banner. A
 * link to it may lie anywhere. */
static bool is_stub(void *library) {
    struct link_map *map = NULL;
    char path[PATH_MAX];
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL &&
           (lies_in_stubs(map->l_name) ||
            (realpath(map->l_name, path) != NULL && lies_in_stubs(path)));
}

/* False: it is no driver; reason says why, if there is none yet. */
static bool try_to_load(nvml_api *api, const char *path, char *reason, size_t size) {
    api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (api->library != NULL && !is_stub(api->library)) {
        return true;
    }
    if (reason[0] == '\0') {
        const char *why = api->library != NULL ? "the CUDA toolkit's stub library" : dlerror();
        (void)snprintf(reason, size, "%s", why == NULL ? path : why);
    }
    api->library = NULL;
    return false;
}

/* Where the place has a name that changes from one driver to the next. */
static bool try_pattern(nvml_api *api, const char *pattern, char *reason, size_t size) {
    glob_t found;
    bool loaded = false;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !loaded; i++) {
            loaded = try_to_load(api, found.gl_pathv[i], reason, size);
        }
        globfree(&found);
    }
    return loaded;
}

probe_status nvml_api_load(nvml_api *api, const char *library, probe_error *error) {
    *api = (nvml_api){0};
    char reason[sizeof error->detail] = "";
    bool loaded = library != NULL && try_to_load(api, library, reason, sizeof reason);
    for (size_t i = 0; library == NULL && i < sizeof places / sizeof places[0] && !loaded; i++) {
        loaded = try_to_load(api, places[i], reason, sizeof reason);
    }
    loaded = loaded || (library == NULL && try_pattern(api, wsl_drivers, reason, sizeof reason));
    return loaded ? resolve(api, error)
                  : probe_fail_detail(error, PROBE_E_ABSENT, 0, "no NVML library could be loaded",
                                      reason);
}
