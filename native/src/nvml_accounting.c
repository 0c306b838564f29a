#include "nvml_accounting.h"

#include <stdlib.h>

/* What the kernel driver remembers: 3872 processes alive and 128 that have ended. */
enum { PIDS_MAX = 4000 };

static bool is_on(const nvml_users *users, const nvml_api *api) {
    unsigned int mode = 0;
    return api->accounting_mode != NULL && api->accounting_pids != NULL &&
           api->accounting_stats != NULL && api->accounting_mode(users->handle, &mode) == NVML_OK &&
           mode == 1;
}

/* Processes that have ended are asked for their start, so many at most. */
enum { ENDED_MAX = 128 };

/* A process of nobody's that began with the task or later may have been the task's. */
static bool may_have_been_own(const nvml_users *users, const nvml_api *api, unsigned int pid,
                              int64_t start_us) {
    nvml_accounting_stats stats = {0};
    return api->accounting_stats(users->handle, pid, &stats) != NVML_OK ||
           stats.start_time_us >= (unsigned long long)start_us;
}

/* Finds the processes of the task's that the driver remembers, and that still are there: the task's
 * command is, until the wrapper has waited for it. False: there may have been others. */
static bool find_own(const nvml_sharing *sharing, nvml_users *users, const nvml_api *api,
                     int64_t start_us) {
    unsigned int count = PIDS_MAX;
    int ended = 0;
    unsigned int *pids = malloc(PIDS_MAX * sizeof *pids);
    bool sure = pids != NULL && api->accounting_pids(users->handle, &count, pids) == NVML_OK;
    for (unsigned int i = 0; sure && i < count && i < PIDS_MAX; i++) {
        if (pids[i] == 0 || pids[i] > INT32_MAX) {
            continue;
        }
        switch (probe_kinship(sharing->proc_root, (pid_t)pids[i], sharing->task)) {
        case PROBE_KIN_OWN:
            nvml_users_add_own(users, (pid_t)pids[i]);
            break;
        case PROBE_KIN_UNKNOWN:
            if ((pid_t)pids[i] != users->own) {
                sure = ++ended <= ENDED_MAX && !may_have_been_own(users, api, pids[i], start_us);
            }
            break;
        default:
            break;
        }
    }
    free(pids);
    return sure;
}

void nvml_accounting_read(const nvml_sharing *sharing, nvml_users *users, const nvml_api *api,
                          int64_t start_us, probe_gpu_device *out) {
    nvml_accounting_stats stats = {0};
    if (sharing->pids == PROBE_PIDS_FOREIGN || !is_on(users, api)) {
        return;
    }
    /* Peaks of several processes need not coincide: their sum would overstate. */
    if (!find_own(sharing, users, api, start_us) || users->own == 0 || users->several ||
        api->accounting_stats(users->handle, (unsigned int)users->own, &stats) != NVML_OK ||
        stats.max_memory == 0 || stats.max_memory == NVML_VALUE_NOT_AVAILABLE ||
        (out->mem_total_bytes > 0 && stats.max_memory > out->mem_total_bytes) ||
        stats.start_time_us < (unsigned long long)start_us) {
        return;
    }
    probe_gpu_sharing *sharing_out = &out->sharing;
    sharing_out->own_seen = true;
    if (!sharing_out->own_known || stats.max_memory >= sharing_out->own_peak_bytes) {
        sharing_out->own_known = sharing_out->own_accounted = true;
        sharing_out->own_peak_bytes = stats.max_memory;
    }
    if (probe_gpu_sharing_certain(sharing_out) && sharing_out->others_peak == 0) {
        out->accounted_peak_bytes = stats.max_memory;
    }
}
