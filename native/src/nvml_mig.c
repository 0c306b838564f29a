#include "nvml_mig.h"

#include "nvml_classify.h"

#include <stdio.h>
#include <string.h>

/* What the driver says, or -1. */
static int ask(nvml_return (*question)(nvml_device, unsigned int *), nvml_device handle) {
    unsigned int value = 0;
    return question != NULL && question(handle, &value) == NVML_OK && value <= 0xffff ? (int)value
                                                                                      : -1;
}

static bool is_divided(nvml_mig_list *list, const nvml_api *api, nvml_device handle) {
    unsigned int current = 0, pending = 0;
    if (handle == NULL || api->mig_mode == NULL || api->mig_max == NULL ||
        api->mig_handle == NULL) {
        return false;
    }
    nvml_return code = api->mig_mode(handle, &current, &pending);
    list->unsure = list->unsure || nvml_classify(code) == NVML_TRANSIENT;
    return code == NVML_OK && current == 1;
}

/* Indices may have gaps: the driver tells the most there can be, not those there are. */
static void find_instances(nvml_mig_list *list, const nvml_api *api, nvml_device parent,
                           const char *parent_uuid, int position) {
    int most = ask(api->mig_max, parent);
    for (int i = 0; i < most && list->count < NVML_MIG_MAX; i++) {
        nvml_mig_instance *found = &list->instance[list->count];
        if (api->mig_handle(parent, (unsigned int)i, &found->handle) != NVML_OK) {
            continue; /* a gap, or somebody else's */
        }
        found->parent = position;
        if (api->uuid(found->handle, found->uuid, sizeof found->uuid) != NVML_OK) {
            found->uuid[0] = '\0';
        }
        found->uuid[sizeof found->uuid - 1] = '\0';
        found->gi = ask(api->mig_gi, found->handle);
        found->ci = ask(api->mig_ci, found->handle);
        (void)snprintf(found->alias, sizeof found->alias, "MIG-%s/%d/%d", parent_uuid, found->gi,
                       found->ci);
        list->count++;
    }
}

void nvml_mig_find(nvml_mig_list *list, const nvml_api *api, const nvml_device *handles,
                   const char (*uuids)[NVML_UUID_SIZE], int whole) {
    list->whole = whole;
    for (int i = 0; i < whole; i++) {
        list->divided[i] = is_divided(list, api, handles[i]);
        if (list->divided[i]) {
            find_instances(list, api, handles[i], uuids[i], i);
        }
    }
}

int nvml_mig_append(const nvml_mig_list *list, probe_scope_device devices[PROBE_SCOPE_MAX]) {
    for (int i = 0; i < list->count; i++) {
        const nvml_mig_instance *instance = &list->instance[i];
        devices[list->whole + i] = (probe_scope_device){.name = devices[instance->parent].name,
                                                        .uuid = instance->uuid,
                                                        .alias = instance->alias,
                                                        .index = -1,
                                                        .is_instance = true};
    }
    return list->whole + list->count;
}

const nvml_mig_instance *nvml_mig_at(const nvml_mig_list *list, int position) {
    return position < list->whole ? NULL : &list->instance[position - list->whole];
}

static void add_once(probe_scope *scope, int position) {
    for (int i = 0; i < scope->count; i++) {
        if (scope->chosen[i] == position) {
            return;
        }
    }
    scope->chosen[scope->count++] = position;
}

int nvml_mig_expand(const nvml_mig_list *list, probe_scope *scope) {
    probe_scope old = *scope;
    bool first_only = scope->gpus == PROBE_GPUS_CUDA_VISIBLE_DEVICES;
    scope->count = 0;
    for (int i = 0; i < old.count; i++) {
        int position = old.chosen[i];
        if (position >= list->whole || !list->divided[position]) {
            add_once(scope, position);
            continue;
        }
        for (int n = 0, added = 0; n < list->count && (added == 0 || !first_only); n++) {
            if (list->instance[n].parent == position) {
                add_once(scope, list->whole + n);
                added++;
            }
        }
    }
    int instances = 0;
    for (int i = 0; i < scope->count; i++) {
        instances += scope->chosen[i] >= list->whole;
    }
    if (instances > 1 && scope->gpus != PROBE_GPUS_OPTION &&
        (scope->reason == NULL || !scope->ambiguous)) {
        scope->ambiguous = true;
        scope->detail[0] = '\0';
        scope->reason = scope->gpus == PROBE_GPUS_ALL_VISIBLE
                            ? "all visible MIG instances were counted, of which a CUDA program "
                              "uses one"
                            : "several MIG instances were counted, of which a CUDA program may use "
                              "only the first";
    }
    int left_out = scope->count > PROBE_GPU_MAX ? scope->count - PROBE_GPU_MAX : 0;
    scope->count -= left_out;
    return left_out;
}

void nvml_mig_describe(const nvml_mig_instance *instance, const nvml_api *api,
                       const char *parent_uuid, probe_gpu_device *out) {
    nvml_device_attributes attributes = {0};
    out->mig = (probe_gpu_mig){.is_instance = true, .gi = instance->gi, .ci = instance->ci};
    (void)snprintf(out->mig.parent_uuid, sizeof out->mig.parent_uuid, "%s", parent_uuid);
    if (api->attributes != NULL && api->attributes(instance->handle, &attributes) == NVML_OK) {
        out->mig.slices = attributes.gpu_instance_slices;
        out->mig.compute_slices = attributes.compute_instance_slices;
        out->mem_total_bytes = attributes.memory_mib << 20; /* a memory reading knows better */
    }
}
