#include "nvml_choice.h"

#include "file.h"
#include "gpu_request.h"
#include "nvml_device.h"
#include "nvml_memory.h"
#include "nvml_note.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

static int enumerate(nvml_session *session, nvml_device *handles, char (*names)[NVML_NAME_SIZE],
                     char (*uuids)[NVML_UUID_SIZE], probe_scope_device *devices) {
    unsigned int total = 0;
    nvml_return code = session->api.count(&total);
    if (code != NVML_OK) {
        nvml_note(&session->snapshot, "the driver does not tell its devices",
                  session->api.error_string(code));
        return 0;
    }
    int count = 0;
    for (unsigned int i = 0; i < total && count < PROBE_GPU_MAX; i++) {
        code = session->api.handle_by_index(i, &handles[count]);
        if (code != NVML_OK) {
            if (code !=
                NVML_E_NO_PERMISSION) { /* a device of somebody else's container is not an error */
                nvml_note(&session->snapshot, "a device could not be opened",
                          session->api.error_string(code));
            }
            continue;
        }
        if (session->api.name(handles[count], names[count], NVML_NAME_SIZE) != NVML_OK) {
            names[count][0] = '\0';
        }
        if (session->api.uuid(handles[count], uuids[count], NVML_UUID_SIZE) != NVML_OK) {
            uuids[count][0] = '\0';
        }
        devices[count] =
            (probe_scope_device){.name = names[count], .uuid = uuids[count], .index = (int)i};
        count++;
    }
    if (total > PROBE_GPU_MAX) {
        nvml_note(&session->snapshot, "more than 16 devices: the others are not measured", "");
    }
    return count;
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
static void open_device(nvml_session *session, int i, int position, const nvml_device *handles,
                        const probe_scope_device *devices) {
    nvml_reader *reader = &session->reader[i];
    probe_gpu_device *out = &session->snapshot.device[i];
    const nvml_mig_instance *instance = nvml_mig_at(&session->mig, position);
    int whole = instance == NULL ? position : instance->parent;
    nvml_device handle = instance == NULL ? handles[whole] : instance->handle;
    if (instance != NULL) {
        nvml_mig_describe(instance, &session->api, devices[whole].uuid, out);
    }
    nvml_reader_open(reader, &session->api, handle, devices[whole].index, out);
    reader->parent = instance == NULL ? NULL : handles[whole];
    reader->clock_ns = session->config.clock_ns;
    nvml_reader_memory_open(reader, host_bytes(session->config.proc_root));
    if (instance != NULL) {
        nvml_sharing_add(&session->sharing,
                         &(nvml_users){.handle = handle, .index = out->index, .place = i});
    }
}

/* visible: devices that the driver shows. chose_any: before divided devices were replaced. */
static void say_choice(nvml_session *session, const probe_scope *scope, int visible,
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
        nvml_note(snapshot,
                  visible == 0 ? "the driver shows no device here"
                  : chose_any
                      ? "the device is divided (MIG), but into no instance that can be used here"
                      : "CUDA_VISIBLE_DEVICES hides every device",
                  "");
    }
}

void nvml_choose_devices(nvml_session *session) {
    nvml_device handles[PROBE_GPU_MAX];
    char names[PROBE_GPU_MAX][NVML_NAME_SIZE], uuids[PROBE_GPU_MAX][NVML_UUID_SIZE];
    probe_scope_device devices[PROBE_SCOPE_MAX];
    int count = enumerate(session, handles, names, uuids, devices);
    nvml_mig_list *mig = &session->mig;
    nvml_mig_find(mig, &session->api, handles, (const char(*)[NVML_UUID_SIZE])uuids, count);
    const probe_gpu_request request = probe_gpu_request_read(session->config.gpus);
    probe_scope scope = probe_gpu_request_resolve(&request, devices, nvml_mig_append(mig, devices));
    bool chose_any = scope.count > 0;
    if (nvml_mig_expand(mig, &scope) > 0) {
        nvml_note(&session->snapshot, "more than 16 devices: the others are not measured", "");
    }
    say_choice(session, &scope, count, chose_any);
    nvml_sharing_open(&session->sharing, &session->snapshot, session->config.proc_root,
                      session->config.task);
    session->sharing.order_doubtful = scope.order_doubtful;
    for (int i = 0; i < scope.count; i++) {
        open_device(session, i, scope.chosen[i], handles, devices);
    }
    for (int i = 0; i < count; i++) {
        if (!mig->divided[i]) {
            nvml_sharing_add(&session->sharing, &(nvml_users){.handle = handles[i],
                                                              .index = devices[i].index,
                                                              .place = place_of(&scope, i)});
        }
    }
}
