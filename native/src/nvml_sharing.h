/* Who uses the task's devices: reads their process lists and tells the task's own from others. */
#ifndef PROBE_NVML_SHARING_H
#define PROBE_NVML_SHARING_H

#include "gpu_page.h"
#include "kinship.h"
#include "nvml_processes.h"

/* What is kept of one device between two polls. */
typedef struct {
    nvml_device handle;
    int index; /* NVML's */
    int place; /* among the devices of the snapshot; -1: not one of the task's */
    nvml_process_lists lists;
    pid_t own; /* a process of the task's that was seen there; 0: none */
    bool several;
    bool asked; /* for its processes */
} nvml_users;

typedef struct {
    const char *proc_root;
    pid_t task; /* the task is this process and its descendants */
    probe_pid_view pids;
    nvml_process_room room;
    int count;
    bool order_doubtful; /* CUDA may number the devices otherwise: all of them are looked at */
    bool elsewhere;      /* the task was seen on a device that is not counted */
    nvml_users users[2 * PROBE_GPU_MAX]; /* whole devices, and the task's instances */
} nvml_sharing;

/* snapshot: with the driver's version and the task's devices. */
void nvml_sharing_open(nvml_sharing *sharing, probe_gpu_snapshot *snapshot, const char *proc_root,
                       pid_t task);

/* One of the devices that the driver shows: its handle, index and place. */
void nvml_sharing_add(nvml_sharing *sharing, const nvml_users *users);

/* Reads the lists of all devices that count. Where the choice of devices rests on CUDA's order, it
 * is certain once the task has been seen on all of them and on no other. last: the end of the task
 * waits, so only compute processes are listed. */
void nvml_sharing_poll(nvml_sharing *sharing, const nvml_api *api, probe_gpu_snapshot *snapshot,
                       bool last);

/* At the end: what accounting mode tells beyond that. start_us: of the task, wall clock. */
void nvml_sharing_account(nvml_sharing *sharing, const nvml_api *api, probe_gpu_snapshot *snapshot,
                          int64_t start_us);

/* Notes that pid is of the task's and used the device. */
void nvml_users_add_own(nvml_users *users, pid_t pid);

#endif
