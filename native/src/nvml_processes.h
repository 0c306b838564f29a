/* The processes that use a device, whichever of its lists the driver has and whatever records it
 * writes into them. */
#ifndef PROBE_NVML_PROCESSES_H
#define PROBE_NVML_PROCESSES_H

#include "nvml_api.h"
#include "nvml_classify.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    unsigned int gpu_instance, compute_instance;
    bool bytes_known;
    uint64_t bytes; /* of the device's memory */
} nvml_process;

/* Which version of the function has answered for a device; 0: the newest, not asked yet. */
typedef struct {
    int version[NVML_PROCESS_KINDS];
} nvml_process_lists;

/* Room for one device's processes at a time, from malloc, kept for life. Starts zeroed. */
typedef struct {
    unsigned char *raw;    /* as the driver writes them */
    unsigned int capacity; /* records that the driver is told to have room for */
    nvml_process *process; /* of all lists, none twice */
    unsigned int count;
} nvml_process_room;

/* Reads the lists of kinds kinds (NVML_PROCESSES_...), in their order; a list takes milliseconds.
 * NVML_FEATURE_ABSENT: the driver has no list of this device's compute processes. With any result
 * but NVML_GOOD the room is not to be used. */
nvml_class nvml_processes_read(nvml_process_room *room, nvml_process_lists *lists,
                               const nvml_api *api, nvml_device device, int kinds);

#endif
