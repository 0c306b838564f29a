/* Divided devices (MIG): CUDA sees their instances in their place. */
#ifndef PROBE_NVML_MIG_H
#define PROBE_NVML_MIG_H

#include "gpu_page.h"
#include "gpu_scope.h"
#include "nvml_api.h"

enum { NVML_MIG_MAX = PROBE_SCOPE_MAX - PROBE_GPU_MAX, NVML_MIG_ALIAS_SIZE = NVML_UUID_SIZE + 32 };

typedef struct {
    nvml_device handle;
    int parent; /* position in the list of whole devices */
    int gi, ci; /* -1: not known */
    char uuid[NVML_UUID_SIZE];
    char alias[NVML_MIG_ALIAS_SIZE]; /* MIG-<uuid of the device>/<gi>/<ci>, the older form */
} nvml_mig_instance;

/* Some 30 KiB: not for the stack. */
typedef struct {
    int whole;   /* devices that the driver enumerates */
    bool unsure; /* a device did not say whether it is divided, but may at another try */
    bool divided[PROBE_GPU_MAX];
    int count;
    nvml_mig_instance instance[NVML_MIG_MAX];
} nvml_mig_list;

/* Finds the instances of the given devices, of which those that are shut are NULL. list: zeroed. */
void nvml_mig_find(nvml_mig_list *list, const nvml_api *api, const nvml_device *handles,
                   const char (*uuids)[NVML_UUID_SIZE], int whole);

/* Appends the instances to the devices that the choice is made from, which end at list->whole.
 * Returns how many there are then. */
int nvml_mig_append(const nvml_mig_list *list, probe_scope_device devices[PROBE_SCOPE_MAX]);

/* Puts instances in the place of the divided devices that were chosen: of one that
 * CUDA_VISIBLE_DEVICES names the first, as CUDA does, else all. Afterwards there are at most
 * PROBE_GPU_MAX; returns how many were left out. */
int nvml_mig_expand(const nvml_mig_list *list, probe_scope *scope);

/* The instance at a position of the choice; NULL: a whole device is there. */
const nvml_mig_instance *nvml_mig_at(const nvml_mig_list *list, int position);

/* Reads what does not change of an instance. out: before its reader is opened. */
void nvml_mig_describe(const nvml_mig_instance *instance, const nvml_api *api,
                       const char *parent_uuid, probe_gpu_device *out);

#endif
