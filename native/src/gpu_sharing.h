/* Who uses a device, as the driver lists its processes: the task's own, and how many others. */
#ifndef PROBE_GPU_SHARING_H
#define PROBE_GPU_SHARING_H

#include <stdbool.h>
#include <stdint.h>

/* Processes are numbered nowhere here: nobody is named in a trace. */
typedef struct {
    bool listed;         /* the driver has listed the device's processes at least once */
    bool listed_last;    /* and at the end of the task */
    bool failed;         /* a list could not be read, or not all of it */
    bool incomplete;     /* a list had numbers that are of no process here */
    bool own_seen;       /* a process of the task's used the device */
    bool own_known;      /* and its memory was told */
    bool own_accounted;  /* own_peak_bytes is the driver's own high-water mark */
    bool others_unknown; /* the memory of others was not told every time */
    int others_peak;     /* most other processes at once */
    uint64_t own_peak_bytes, others_peak_bytes; /* largest sum at one poll */
} probe_gpu_sharing;

/* All the device's users at the polls are known. */
static inline bool probe_gpu_sharing_certain(const probe_gpu_sharing *sharing) {
    return sharing->listed_last && !sharing->failed && !sharing->incomplete;
}

#endif
