#include "gpu_request.h"

#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_SIZE = NVML_UUID_SIZE };

/* The next part of a list that commas join; it is cut where it does not fit. False: there is none.
 */
static bool next_token(const char **list, char token[TOKEN_SIZE]) {
    if (*list == NULL) {
        return false;
    }
    size_t length = strcspn(*list, ",");
    (void)snprintf(token, TOKEN_SIZE, "%.*s", (int)(length < TOKEN_SIZE ? length : TOKEN_SIZE),
                   *list);
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

static bool is_uuid(const char *token) {
    return strncmp(token, "GPU-", 4) == 0 || strncmp(token, "MIG-", 4) == 0;
}

/* The whole token is a number. */
static bool is_index(const char *token, uint64_t *index) {
    const char *end = NULL;
    return *token >= '0' && *token <= '9' && probe_parse_u64(token, index, &end) && *end == '\0';
}

bool probe_gpu_option_valid(const char *option) {
    if (strcmp(option, "auto") == 0 || strcmp(option, "none") == 0 || strcmp(option, "all") == 0) {
        return true;
    }
    char token[TOKEN_SIZE];
    bool valid = true;
    for (const char *list = option; valid && next_token(&list, token);) {
        uint64_t index;
        valid = is_uuid(token) || is_index(token, &index);
    }
    return valid;
}

static bool begins(const char *uuid, const char *token) {
    return uuid != NULL && strncmp(uuid, token, strlen(token)) == 0;
}

/* How many devices a token names, by NVML's index or by the beginning of a uuid, and the last of
 * them; -1: none. */
static int find(const char *token, const probe_scope_device *devices, int count, int *found) {
    uint64_t index = 0;
    bool by_index = is_index(token, &index);
    int fitting = 0;
    *found = -1;
    for (int i = 0; i < count; i++) {
        if (by_index ? (uint64_t)devices[i].index == index
                     : is_uuid(token) &&
                           (begins(devices[i].uuid, token) || begins(devices[i].alias, token))) {
            fitting++;
            *found = i;
        }
    }
    return fitting;
}

static bool has(const probe_scope *scope, int position) {
    for (int i = 0; i < scope->count; i++) {
        if (scope->chosen[i] == position) {
            return true;
        }
    }
    return false;
}

/* Adds what the list names, each device once. The first token that names none, or more than one, is
 * copied to unknown. */
static void add_listed(probe_scope *scope, const char *list, const probe_scope_device *devices,
                       int count, char unknown[TOKEN_SIZE]) {
    char token[TOKEN_SIZE];
    unknown[0] = '\0';
    while (next_token(&list, token)) {
        int found;
        int fitting = find(token, devices, count, &found);
        if (fitting != 1 && unknown[0] == '\0') {
            (void)snprintf(unknown, TOKEN_SIZE, "%s", token);
        }
        if (fitting == 1 && !has(scope, found)) {
            scope->chosen[scope->count++] = found;
        }
    }
}

/* Says of a part of the option that it names no device, or more than one. */
static void say_unknown(probe_scope *scope, const char *token, const probe_scope_device *devices,
                        int count) {
    int found, whole = 0;
    int fitting = find(token, devices, count, &found);
    while (whole < count && !devices[whole].is_instance) {
        whole++;
    }
    char *out = scope->detail;
    const size_t size = sizeof scope->detail;
    scope->reason = "--gpus";
    if (fitting > 1) {
        (void)snprintf(out, size, "'%s' fits %d devices: write more of it", token, fitting);
    } else if (whole == 0) {
        (void)snprintf(out, size, "'%s': no such device (there is none)", token);
    } else if (whole == 1) {
        (void)snprintf(out, size, "'%s': no such device (there is only %d)", token,
                       devices[0].index);
    } else { /* one that may not be used has no place in the list */
        bool gaps = devices[whole - 1].index - devices[0].index != whole - 1;
        (void)snprintf(out, size, "'%s': no such device (there are %s%d to %d)", token,
                       gaps ? "some of " : "", devices[0].index, devices[whole - 1].index);
    }
}

static probe_scope by_option(const char *option, const probe_scope_device *devices, int count) {
    probe_scope scope = {.gpus = PROBE_GPUS_OPTION};
    if (strcmp(option, "all") == 0) {
        scope = probe_scope_select(NULL, false, devices, count);
        scope.gpus = PROBE_GPUS_OPTION;
        return scope;
    }
    char unknown[TOKEN_SIZE];
    add_listed(&scope, option, devices, count, unknown);
    if (unknown[0] != '\0') {
        say_unknown(&scope, unknown, devices, count);
    }
    return scope;
}

/* Outside CUDA's rules, Slurm's numbers are a hint: the job may use all that it can open. Where
 * Slurm confines the job to its devices, the driver shows no others, and there is no doubt. */
static probe_scope by_slurm(const char *list, const probe_scope_device *devices, int count) {
    probe_scope all = probe_scope_select(NULL, false, devices, count);
    probe_scope scope = {.gpus = PROBE_GPUS_SLURM, .ambiguous = true};
    char unknown[TOKEN_SIZE];
    add_listed(&scope, list, devices, count, unknown);
    if (scope.count == all.count) {
        return all;
    }
    if (scope.count == 0 || unknown[0] != '\0') {
        return all; /* host numbers in a container that was given its own devices */
    }
    scope.reason = "CUDA_VISIBLE_DEVICES is not set: of the visible devices those that Slurm gave "
                   "to the step were counted";
    return scope;
}

static bool says_none(const char *nvidia_visible_devices) {
    return nvidia_visible_devices != NULL && (strcmp(nvidia_visible_devices, "none") == 0 ||
                                              strcmp(nvidia_visible_devices, "void") == 0);
}

static probe_scope resolve(const probe_gpu_request *request, const probe_scope_device *devices,
                           int count) {
    if (request->option != NULL && strcmp(request->option, "auto") != 0) {
        return by_option(request->option, devices, count);
    }
    const char *order = request->cuda_device_order;
    bool pci_order = order != NULL && strcmp(order, "PCI_BUS_ID") == 0;
    const char *slurm =
        request->slurm_step_gpus != NULL ? request->slurm_step_gpus : request->gpu_device_ordinal;
    if (request->cuda_visible_devices == NULL && slurm != NULL && count > 0) {
        return by_slurm(slurm, devices, count);
    }
    probe_scope scope =
        probe_scope_select(request->cuda_visible_devices, pci_order, devices, count);
    if (request->cuda_visible_devices == NULL && says_none(request->nvidia_visible_devices)) {
        scope.ambiguous = count > 0;
        scope.reason = count > 0 ? "NVIDIA_VISIBLE_DEVICES gives this container no GPU, but the "
                                   "driver shows some: they were counted"
                                 : "NVIDIA_VISIBLE_DEVICES gives this container no GPU";
    }
    return scope;
}

probe_scope probe_gpu_request_resolve(const probe_gpu_request *request,
                                      const probe_scope_device *devices, int count) {
    probe_scope scope = resolve(request, devices, count);
    probe_scope_drop_shut(&scope, devices);
    return scope;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

probe_gpu_request probe_gpu_request_read(const char *option) {
    return (probe_gpu_request){
        .option = option,
        .cuda_visible_devices = getenv("CUDA_VISIBLE_DEVICES"), /* empty: no device */
        .cuda_device_order = variable("CUDA_DEVICE_ORDER"),
        .slurm_step_gpus = variable("SLURM_STEP_GPUS"),
        .gpu_device_ordinal = variable("GPU_DEVICE_ORDINAL"),
        .nvidia_visible_devices = variable("NVIDIA_VISIBLE_DEVICES"),
    };
}
