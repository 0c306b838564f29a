#include "nvml_processes.h"

#include <stdlib.h>
#include <string.h>

/* The kernel driver lists 950 processes at most. */
enum { CAPACITY_FIRST = 32, CAPACITY_MAX = 1024, ASKED_MAX = 4, POISON = 0xa5 };

/* Versions of the lists, newest first: the one for all kinds, _v3, _v2, the first. */
enum { DETAIL, V3, V2, V1, VERSIONS };

/* Some drivers write longer records than the caller has room for. */
static size_t raw_size(unsigned int capacity) {
    return (size_t)capacity * 2 * sizeof(nvml_process_detail);
}

/* False: no memory; the room is as it was. */
static bool make_room(nvml_process_room *room, unsigned int capacity) {
    unsigned char *raw = realloc(room->raw, raw_size(capacity));
    if (raw == NULL) {
        return false;
    }
    room->raw = raw;
    nvml_process *process =
        realloc(room->process, (size_t)capacity * NVML_PROCESS_KINDS * sizeof *process);
    if (process == NULL) {
        return false;
    }
    room->process = process;
    room->capacity = capacity;
    return true;
}

static nvml_return ask_once(const nvml_process_room *room, const nvml_api *api, nvml_device device,
                            int kind, int version, unsigned int *count) {
    *count = room->capacity;
    memset(room->raw, POISON, raw_size(room->capacity));
    if (version == DETAIL) {
        nvml_process_detail_list list = {.version = NVML_PROCESS_DETAIL_LIST_VERSION,
                                         .mode = (unsigned int)kind,
                                         .count = *count,
                                         .processes = (nvml_process_detail *)(void *)room->raw};
        nvml_return code = api->process_details == NULL ? NVML_E_FUNCTION_NOT_FOUND
                                                        : api->process_details(device, &list);
        *count = list.count;
        return code;
    }
    nvml_return (*list)(nvml_device, unsigned int *, void *) = api->processes[kind][version - V3];
    return list == NULL ? NVML_E_FUNCTION_NOT_FOUND : list(device, count, room->raw);
}

/* Processes come and go between an answer that says how many there are and the next question. */
static nvml_return ask(nvml_process_room *room, const nvml_api *api, nvml_device device, int kind,
                       int version, unsigned int *count) {
    nvml_return code = NVML_E_INSUFFICIENT_SIZE;
    for (int asked = 0; asked < ASKED_MAX && code == NVML_E_INSUFFICIENT_SIZE; asked++) {
        code = ask_once(room, api, device, kind, version, count);
        if (code == NVML_E_INSUFFICIENT_SIZE) {
            unsigned int wanted = *count > room->capacity ? *count : room->capacity;
            wanted = wanted < CAPACITY_MAX / 2 ? wanted * 2 : CAPACITY_MAX;
            if (!make_room(room, wanted)) {
                return NVML_E_MEMORY;
            }
        }
    }
    return code;
}

/* How far apart the records are, whatever the header says: up to where the poison is gone. */
static size_t stride_of(const nvml_process_room *room, int version, unsigned int count) {
    const size_t expected[VERSIONS] = {sizeof(nvml_process_detail), sizeof(nvml_process_info),
                                       sizeof(nvml_process_info), sizeof(nvml_process_info_v1)};
    size_t written = raw_size(room->capacity);
    while (written > 0 && room->raw[written - 1] == POISON) {
        written--;
    }
    size_t stride = written / count;
    bool plausible = written % count == 0 &&
                     (stride == sizeof(nvml_process_info_v1) ||
                      stride == sizeof(nvml_process_info) || stride == sizeof(nvml_process_detail));
    return plausible ? stride : expected[version];
}

static void add(nvml_process_room *room, const nvml_process *process) {
    for (unsigned int i = 0; i < room->count; i++) {
        nvml_process *known = &room->process[i];
        if (known->pid == process->pid && known->gpu_instance == process->gpu_instance &&
            known->compute_instance == process->compute_instance) {
            if (process->bytes_known && (!known->bytes_known || process->bytes > known->bytes)) {
                *known = *process;
            }
            return;
        }
    }
    room->process[room->count++] = *process;
}

/* The record layouts are prefixes of the longest. */
static void take(nvml_process_room *room, size_t stride, unsigned int count) {
    for (unsigned int i = 0; i < count; i++) {
        nvml_process_detail record = {.gpu_instance_id = NVML_NO_INSTANCE,
                                      .compute_instance_id = NVML_NO_INSTANCE};
        memcpy(&record, room->raw + i * stride, stride);
        if (record.pid == 0 || record.pid > INT32_MAX) {
            continue; /* no process */
        }
        add(room, &(nvml_process){.pid = (pid_t)record.pid,
                                  .gpu_instance = record.gpu_instance_id,
                                  .compute_instance = record.compute_instance_id,
                                  .bytes_known = record.used_gpu_memory != NVML_VALUE_NOT_AVAILABLE,
                                  .bytes = record.used_gpu_memory});
    }
}

/* One kind of process, by the newest version of the function that the device has. */
static nvml_class read_kind(nvml_process_room *room, int *version, const nvml_api *api,
                            nvml_device device, int kind) {
    nvml_class result = NVML_FEATURE_ABSENT;
    for (; *version < VERSIONS; ++*version) {
        unsigned int count = 0;
        nvml_return code = ask(room, api, device, kind, *version, &count);
        bool refused = code == NVML_E_ARGUMENT_VERSION_MISMATCH || code == NVML_E_INVALID_ARGUMENT;
        result = refused ? NVML_FEATURE_ABSENT : nvml_classify(code);
        if (result == NVML_GOOD && count > 0) {
            count = count < room->capacity ? count : room->capacity;
            take(room, stride_of(room, *version, count), count);
        }
        if (result != NVML_FEATURE_ABSENT) {
            return result;
        }
    }
    return result;
}

nvml_class nvml_processes_read(nvml_process_room *room, nvml_process_lists *lists,
                               const nvml_api *api, nvml_device device, int kinds) {
    room->count = 0;
    if (room->process == NULL && !make_room(room, CAPACITY_FIRST)) {
        return NVML_TRANSIENT;
    }
    for (int kind = 0; kind < kinds; kind++) {
        nvml_class one = read_kind(room, &lists->version[kind], api, device, kind);
        /* A driver may lack the lists of the other kinds, but without the compute processes nothing
         * is known. */
        bool lacks_other = one == NVML_FEATURE_ABSENT && kind != NVML_PROCESSES_COMPUTE;
        if (one != NVML_GOOD && !lacks_other) {
            return one;
        }
    }
    return NVML_GOOD;
}
