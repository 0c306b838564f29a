#include "gpu_scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at;
    size_t length;
} token;

/* The next comma-separated token, without blanks around it. False at the end of the list. */
static bool next_token(const char **list, token *t) {
    if (*list == NULL) {
        return false;
    }
    const char *start = *list + strspn(*list, " \t");
    const char *end = start + strcspn(start, ",");
    *list = *end == ',' ? end + 1 : NULL;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    *t = (token){start, (size_t)(end - start)};
    return true;
}

static bool starts_with(token t, const char *prefix) {
    size_t length = strlen(prefix);
    return t.length >= length && strncmp(t.at, prefix, length) == 0;
}

static int count_whole(const probe_scope_device *devices, int count) {
    int whole = 0;
    while (whole < count && !devices[whole].is_instance) {
        whole++;
    }
    return whole;
}

static bool begins(const char *uuid, token t) {
    return uuid != NULL && strncmp(uuid, t.at, t.length) == 0;
}

/* The one device whose UUID begins with the token, or -1. */
static int find_uuid(token t, const probe_scope_device *devices, int count) {
    int found = -1;
    for (int i = 0; i < count; i++) {
        if (t.length > 0 && (begins(devices[i].uuid, t) || begins(devices[i].alias, t))) {
            if (found >= 0) {
                return -1; /* ambiguous prefix */
            }
            found = i;
        }
    }
    return found;
}

/* CUDA reads ordinals as strtoul does: what follows the digits is ignored, a sign is allowed. -1:
 * not an ordinal of a device. */
static int find_ordinal(token t, int count) {
    char *end = NULL;
    long ordinal = strtol(t.at, &end, 10);
    return end != t.at && ordinal >= 0 && ordinal < count ? (int)ordinal : -1;
}

static bool is_uuid(token t) {
    return starts_with(t, "GPU-") || starts_with(t, "MIG-");
}

/* The list ended at a token that names no device. An empty or a negative one is meant to end it. */
static void say_end(probe_scope *scope, token end) {
    if (end.length > 0 && end.at[0] != '-') {
        scope->reason = "CUDA_VISIBLE_DEVICES ends at an entry that names no single device";
        (void)snprintf(scope->detail, sizeof scope->detail, "%.*s",
                       (int)(end.length < NVML_UUID_SIZE ? end.length : NVML_UUID_SIZE), end.at);
    }
}

/* Walks the list until the first token that names no device, which ends it. False: a device was
 * named twice. */
static bool choose(probe_scope *scope, const char *visible, const probe_scope_device *devices,
                   int count) {
    token t;
    bool by_uuid = false;
    for (int position = 0; next_token(&visible, &t); position++) {
        if (position == 0) {
            by_uuid = is_uuid(t);
        }
        int found = -1;
        if (is_uuid(t) == by_uuid) {
            found = by_uuid ? find_uuid(t, devices, count)
                            : find_ordinal(t, count_whole(devices, count));
        }
        if (found < 0) {
            say_end(scope, t);
            break;
        }
        for (int i = 0; i < scope->count; i++) {
            if (scope->chosen[i] == found) {
                return false;
            }
        }
        scope->chosen[scope->count++] = found;
    }
    return true;
}

/* Empty, a negative ordinal, or a word such as Slurm's NoDevFiles: the task sees no device. */
static bool hides_everything(token first) {
    char *end = NULL;
    long ordinal = strtol(first.at, &end, 10);
    return first.length == 0 || (!is_uuid(first) && (end == first.at || ordinal < 0));
}

static bool names_differ(const probe_scope_device *devices, int count) {
    const char *first = NULL;
    for (int i = 0; i < count; i++) {
        if (!devices[i].is_shut && first != NULL && strcmp(devices[i].name, first) != 0) {
            return true;
        }
        first = devices[i].is_shut ? first : devices[i].name;
    }
    return false;
}

/* CUDA may leave out a device that is shut: the numbers from it on may then mean the next ones. */
static bool reaches_shut(const probe_scope *scope, const probe_scope_device *devices) {
    for (int i = 0; i < scope->count; i++) {
        for (int position = 0; position <= scope->chosen[i]; position++) {
            if (devices[position].is_shut) {
                return true;
            }
        }
    }
    return false;
}

void probe_scope_drop_shut(probe_scope *scope, const probe_scope_device *devices) {
    int kept = 0;
    for (int i = 0; i < scope->count; i++) {
        if (!devices[scope->chosen[i]].is_shut) {
            scope->chosen[kept++] = scope->chosen[i];
        }
    }
    scope->ambiguous = scope->ambiguous || kept < scope->count;
    scope->count = kept;
}

static probe_scope all_visible(int count) {
    probe_scope scope = {.gpus = count > 0 ? PROBE_GPUS_ALL_VISIBLE : PROBE_GPUS_NONE,
                         .count = count};
    for (int i = 0; i < count; i++) {
        scope.chosen[i] = i;
    }
    return scope;
}

probe_scope probe_scope_select(const char *visible, bool pci_order,
                               const probe_scope_device *devices, int count) {
    int whole = count_whole(devices, count);
    if (visible == NULL) {
        return all_visible(whole);
    }
    probe_scope scope = {.gpus = PROBE_GPUS_CUDA_VISIBLE_DEVICES};
    const char *list = visible;
    token first = {0};
    (void)next_token(&list, &first);
    if (count == 0 || hides_everything(first)) {
        return scope;
    }
    if (!choose(&scope, visible, devices, count)) {
        scope.count = 0;
        scope.reason = "CUDA_VISIBLE_DEVICES lists a device twice, for which CUDA shows none";
        return scope;
    }
    if (scope.count == 0) {
        /* Inside a container the devices are renumbered, and the list may still carry the host's
         * numbers. */
        scope = all_visible(whole);
        scope.ambiguous = true;
        scope.reason = "CUDA_VISIBLE_DEVICES names no device that the driver shows here: all "
                       "visible devices were counted";
    } else if (!is_uuid(first) && reaches_shut(&scope, devices)) {
        scope.ambiguous = true;
        scope.detail[0] = '\0';
        scope.reason = "CUDA may number the devices without the one that could not be opened";
    } else if (!is_uuid(first) && !pci_order && scope.count < whole &&
               names_differ(devices, whole)) { /* of all devices the order does not matter */
        scope.ambiguous = scope.order_doubtful = true;
        scope.detail[0] = '\0';
        scope.reason = "the devices differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID: CUDA may "
                       "number them in another order";
    }
    return scope;
}
