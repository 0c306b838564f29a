#include "nvml_sharing.h"

#include "nvml_accounting.h"
#include "nvml_memory.h"

#include <stdio.h>

enum { LAST_KINDS = NVML_PROCESSES_COMPUTE + 1 };

void nvml_users_add_own(nvml_users *users, pid_t pid) {
    users->several = users->several || (users->own != 0 && users->own != pid);
    users->own = pid;
}

/* Processes of one side at one poll. */
typedef struct {
    int count;
    bool unknown; /* the memory of one at least is not told */
    uint64_t bytes;
} group;

static void count_in(group *side, const nvml_process *process) {
    side->count++;
    side->unknown = side->unknown || !process->bytes_known;
    side->bytes += process->bytes_known ? process->bytes : 0;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void merge(probe_gpu_sharing *out, const group *own, const group *others) {
    if (own->count > 0) {
        out->own_seen = true;
        if (!own->unknown) {
            out->own_known = true;
            out->own_peak_bytes = larger(out->own_peak_bytes, own->bytes);
        }
    }
    out->others_peak = others->count > out->others_peak ? others->count : out->others_peak;
    out->others_unknown = out->others_unknown || others->unknown;
    out->others_peak_bytes = larger(out->others_peak_bytes, others->bytes);
}

/* Reads one device's lists into out. */
static void read_device(nvml_sharing *sharing, nvml_users *users, const nvml_api *api, int kinds,
                        probe_gpu_sharing *out) {
    nvml_process_room *room = &sharing->room;
    nvml_class result = nvml_processes_read(room, &users->lists, api, users->handle, kinds);
    if (result != NVML_GOOD) {
        out->failed = out->failed || out->listed || result != NVML_FEATURE_ABSENT;
        return;
    }
    out->listed = true;
    out->listed_last = kinds == LAST_KINDS;
    if (sharing->pids == PROBE_PIDS_FOREIGN) {
        return; /* a number of the host's may be that of anybody here */
    }
    group own = {0}, others = {0};
    for (unsigned int i = 0; i < room->count; i++) {
        const nvml_process *process = &room->process[i];
        switch (probe_kinship(sharing->proc_root, process->pid, sharing->task)) {
        case PROBE_KIN_OWN:
            nvml_users_add_own(users, process->pid);
            count_in(&own, process);
            break;
        case PROBE_KIN_STRANGER:
            count_in(&others, process);
            break;
        default:
            out->incomplete = true;
        }
    }
    merge(out, &own, &others);
}

void nvml_sharing_open(nvml_sharing *sharing, probe_gpu_snapshot *snapshot, const char *proc_root,
                       pid_t task) {
    sharing->proc_root = proc_root;
    sharing->task = task;
    sharing->pids = snapshot->pids = probe_pid_view_of(proc_root, snapshot->driver);
}

void nvml_sharing_add(nvml_sharing *sharing, const nvml_users *users) {
    sharing->users[sharing->count++] = *users;
}

static void settle_order(nvml_sharing *sharing, probe_gpu_snapshot *snapshot, int elsewhere) {
    bool everywhere = true;
    for (int i = 0; i < snapshot->count; i++) {
        everywhere = everywhere && snapshot->device[i].sharing.own_seen;
    }
    if (elsewhere >= 0 && !sharing->elsewhere) {
        sharing->elsewhere = true;
        (void)snprintf(snapshot->scope_note, sizeof snapshot->scope_note,
                       "the task was seen on device %d, which is not among those counted: CUDA "
                       "numbers the devices in another order; set CUDA_DEVICE_ORDER=PCI_BUS_ID",
                       elsewhere);
    }
    snapshot->ambiguous = sharing->elsewhere || !everywhere;
    if (!snapshot->ambiguous) {
        snapshot->scope_note[0] = '\0';
    }
}

void nvml_sharing_poll(nvml_sharing *sharing, const nvml_api *api, probe_gpu_snapshot *snapshot,
                       bool last) {
    const int kinds = last ? LAST_KINDS : NVML_PROCESS_KINDS;
    int elsewhere = -1;
    for (int i = 0; i < sharing->count; i++) {
        nvml_users *users = &sharing->users[i];
        if (users->place >= 0) {
            probe_gpu_device *device = &snapshot->device[users->place];
            if (!device->lost) {
                read_device(sharing, users, api, kinds, &device->sharing);
                if (!users->asked && !last && sharing->pids != PROBE_PIDS_FOREIGN) {
                    nvml_reader_memory_settle_start(device);
                }
                users->asked = true;
            }
        } else if (sharing->order_doubtful) {
            probe_gpu_sharing other = {0};
            read_device(sharing, users, api, kinds, &other);
            elsewhere = other.own_seen ? users->index : elsewhere;
        }
    }
    if (sharing->order_doubtful) {
        settle_order(sharing, snapshot, elsewhere);
    }
}

void nvml_sharing_account(nvml_sharing *sharing, const nvml_api *api, probe_gpu_snapshot *snapshot,
                          int64_t start_us) {
    for (int i = 0; i < sharing->count; i++) {
        nvml_users *users = &sharing->users[i];
        if (users->place >= 0 && !snapshot->device[users->place].lost) {
            nvml_accounting_read(sharing, users, api, start_us, &snapshot->device[users->place]);
        }
    }
}
