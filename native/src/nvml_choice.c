#include "nvml_choice.h"

#include "file.h"
#include "gpu_request.h"
#include "nvml_classify.h"
#include "nvml_device.h"
#include "nvml_memory.h"
#include "nvml_note.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* What the driver enumerates, before anything is chosen. */
typedef struct {
    int count;
    bool unsure;                       /* an answer failed that may come at another try */
    nvml_device handle[PROBE_GPU_MAX]; /* NULL: the device could not be opened */
    char name[PROBE_GPU_MAX][NVML_NAME_SIZE], uuid[PROBE_GPU_MAX][NVML_UUID_SIZE];
} candidates;

/* A driver may fill the whole buffer and leave no room for an end. */
static void read_text(nvml_return (*question)(nvml_device, char *, unsigned int), candidates *found,
                      char *text, unsigned int size) {
    nvml_return code = question(found->handle[found->count], text, size);
    text[code == NVML_OK ? size - 1 : 0] = '\0';
    found->unsure = found->unsure || nvml_classify(code) == NVML_TRANSIENT;
}

/* A device that fails to open keeps its place, or the numbers behind it would name others. One that
 * may not be used is somebody else's, and CUDA does not number it. */
static void add(nvml_session *session, candidates *found, unsigned int index,
                probe_scope_device *devices) {
    int place = found->count;
    nvml_return code = session->api.handle_by_index(index, &found->handle[place]);
    if (code == NVML_E_NO_PERMISSION) {
        return;
    }
    found->name[place][0] = found->uuid[place][0] = '\0';
    if (code == NVML_OK) {
        read_text(session->api.name, found, found->name[place], NVML_NAME_SIZE);
        read_text(session->api.uuid, found, found->uuid[place], NVML_UUID_SIZE);
    } else {
        found->handle[place] = NULL;
        found->unsure = found->unsure || nvml_classify(code) == NVML_TRANSIENT;
        nvml_note(&session->snapshot, "a device could not be opened",
                  session->api.error_string(code));
    }
    devices[place] = (probe_scope_device){.name = found->name[place],
                                          .uuid = found->uuid[place],
                                          .index = (int)index,
                                          .is_shut = code != NVML_OK};
    found->count++;
}

/* False: the driver does not tell how many there are. */
static bool enumerate(nvml_session *session, candidates *found, probe_scope_device *devices) {
    unsigned int total = 0;
    nvml_return code = session->api.count(&total);
    if (code != NVML_OK) {
        found->unsure = nvml_classify(code) == NVML_TRANSIENT;
        nvml_note(&session->snapshot, "the driver does not tell its devices",
                  session->api.error_string(code));
        return false;
    }
    for (unsigned int i = 0; i < total && found->count < PROBE_GPU_MAX; i++) {
        add(session, found, i, devices);
    }
    if (total > PROBE_GPU_MAX) {
        nvml_note(&session->snapshot, "more than 16 devices: the others are not measured", "");
    }
    return true;
}

static uint64_t host_bytes(const char *proc_root) {
    char path[PATH_MAX], text[4096];
    uint64_t kib = 0;
    return probe_path_join(path, sizeof path, proc_root, "meminfo") == PROBE_OK &&
                   probe_file_read(AT_FDCWD, path, text, sizeof text, NULL) != PROBE_E_SYSCALL &&
                   probe_find_u64(text, "MemTotal", ':', &kib)
               ? kib * 1024
               : 0;
}

/* Which of the task's devices one of all devices is; -1: none. */
static int place_of(const probe_scope *scope, int position) {
    for (int i = 0; i < scope->count; i++) {
        if (scope->chosen[i] == position) {
            return i;
        }
    }
    return -1;
}

/* position: in the list of candidates, whole devices first. */
static void open_device(nvml_session *session, int i, int position, const candidates *found,
                        const probe_scope_device *devices) {
    nvml_reader *reader = &session->reader[i];
    probe_gpu_device *out = &session->snapshot.device[i];
    const nvml_mig_instance *instance = nvml_mig_at(&session->mig, position);
    int whole = instance == NULL ? position : instance->parent;
    nvml_device handle = instance == NULL ? found->handle[whole] : instance->handle;
    if (instance != NULL) {
        nvml_mig_describe(instance, &session->api, devices[whole].uuid, out);
    }
    nvml_reader_open(reader, &session->api, handle, devices[whole].index, out);
    reader->parent = instance == NULL ? NULL : found->handle[whole];
    reader->clock_ns = session->config.clock_ns;
    reader->interval_ns = session->config.interval_ns;
    nvml_reader_memory_open(reader, host_bytes(session->config.proc_root));
    if (instance != NULL) {
        nvml_sharing_add(&session->sharing,
                         &(nvml_users){.handle = handle, .index = out->index, .place = i});
    }
}

/* Why there is no device; NULL: it is said already. chose_any: before divided devices were
 * replaced.
 */
static const char *why_none(const candidates *found, const probe_scope *scope, bool chose_any) {
    if (found->count == 0) {
        return "the driver shows no device here";
    }
    if (chose_any) {
        return "the device is divided (MIG), but into no instance that can be used here";
    }
    return scope->ambiguous ? NULL : "CUDA_VISIBLE_DEVICES hides every device";
}

static void say_choice(nvml_session *session, const probe_scope *scope, const candidates *found,
                       bool chose_any) {
    probe_gpu_snapshot *snapshot = &session->snapshot;
    snapshot->gpus = scope->gpus;
    snapshot->ambiguous = scope->ambiguous;
    snapshot->count = scope->count;
    if (scope->reason != NULL && scope->count > 0) {
        (void)snprintf(snapshot->scope_note, sizeof snapshot->scope_note,
                       scope->detail[0] == '\0' ? "%s" : "%s: %s", scope->reason, scope->detail);
    } else if (scope->reason != NULL) {
        nvml_note(snapshot, scope->reason, scope->detail);
    } else if (scope->count == 0) {
        const char *why = why_none(found, scope, chose_any);
        if (why != NULL) {
            nvml_note(snapshot, why, "");
        }
    }
}

static void open_chosen(nvml_session *session, const probe_scope *scope, const candidates *found,
                        const probe_scope_device *devices) {
    nvml_sharing_open(&session->sharing, &session->snapshot, session->config.proc_root,
                      session->config.task);
    session->sharing.order_doubtful = scope->order_doubtful;
    for (int i = 0; i < scope->count; i++) {
        open_device(session, i, scope->chosen[i], found, devices);
    }
    for (int i = 0; i < found->count; i++) {
        if (found->handle[i] != NULL && !session->mig.divided[i]) {
            nvml_sharing_add(&session->sharing, &(nvml_users){.handle = found->handle[i],
                                                              .index = devices[i].index,
                                                              .place = place_of(scope, i)});
        }
    }
}

bool nvml_choose_devices(nvml_session *session, bool last_try) {
    candidates found = {0};
    probe_scope_device devices[PROBE_SCOPE_MAX];
    if (!enumerate(session, &found, devices)) {
        return last_try || !found.unsure;
    }
    nvml_mig_list *mig = &session->mig;
    *mig = (nvml_mig_list){0};
    nvml_mig_find(mig, &session->api, found.handle, (const char(*)[NVML_UUID_SIZE])found.uuid,
                  found.count);
    if ((found.unsure || mig->unsure) && !last_try) {
        return false;
    }
    const probe_gpu_request request = probe_gpu_request_read(session->config.gpus);
    probe_scope scope = probe_gpu_request_resolve(&request, devices, nvml_mig_append(mig, devices));
    bool chose_any = scope.count > 0;
    if (nvml_mig_expand(mig, &scope) > 0) {
        nvml_note(&session->snapshot, "more than 16 devices: the others are not measured", "");
    }
    say_choice(session, &scope, &found, chose_any);
    open_chosen(session, &scope, &found, devices);
    return true;
}
