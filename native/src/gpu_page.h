/* What the NVML helper publishes and everybody else reads: a shared page with two slots, of which
 * the older one is rewritten, so that a helper that dies or hangs in the driver leaves the last
 * whole reading behind. */
#ifndef PROBE_GPU_PAGE_H
#define PROBE_GPU_PAGE_H

#include "busy_span.h"
#include "gpu_activity.h"
#include "gpu_health.h"
#include "gpu_mig.h"
#include "gpu_sharing.h"
#include "integral.h"
#include "kinship.h"
#include "nvml_types.h"
#include "profile.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PROBE_GPU_MAX = 16, PROBE_GPU_NOTE_SIZE = 256 };

typedef enum {
    PROBE_UTILIZATION_NONE,
    PROBE_UTILIZATION_SAMPLES,
    PROBE_UTILIZATION_RATES,
    PROBE_UTILIZATION_GPM
} probe_utilization_source;
typedef enum { PROBE_MEMORY_NONE, PROBE_MEMORY_V1, PROBE_MEMORY_V2 } probe_memory_source;
/* Why a device's memory was not read. */
typedef enum {
    PROBE_MEMORY_UNREAD, /* the driver gave no reading */
    PROBE_MEMORY_NOT_SUPPORTED,
    PROBE_MEMORY_FORBIDDEN,
    PROBE_MEMORY_NONSENSE, /* the reading cannot be true */
    PROBE_MEMORY_UNIFIED   /* the device has none of its own */
} probe_memory_absence;
typedef enum {
    PROBE_GPUS_NONE,
    PROBE_GPUS_ALL_VISIBLE,
    PROBE_GPUS_CUDA_VISIBLE_DEVICES,
    PROBE_GPUS_SLURM,
    PROBE_GPUS_OPTION
} probe_gpus;

/* One device; times in ns since the start of the task. */
typedef struct {
    int index;                                       /* NVML's; of an instance, its parent's */
    char name[NVML_NAME_SIZE], uuid[NVML_UUID_SIZE]; /* empty: the driver does not tell */
    uint64_t mem_total_bytes;                        /* 0: not known */
    probe_utilization_source utilization_source;
    bool utilization_forbidden; /* the driver does not permit it */
    probe_memory_source memory_source;
    probe_utilization gpu, memory;       /* memory: the memory controller */
    probe_gauge used;                    /* memory in use */
    probe_memory_absence memory_absence; /* when there is none in used */
    bool used_at_start_known;            /* what others used when the task began */
    uint64_t used_at_start_bytes;        /* the first reading */
    int64_t used_first_ns;               /* when that was */
    uint64_t accounted_peak_bytes;       /* of the only process on it; 0: not known */
    probe_gpu_sharing sharing;
    probe_profile profile; /* of gpu */
    probe_gpu_activity activity;
    probe_gpu_mig mig;
    probe_busy_span span; /* of gpu */
    probe_gpu_health health;
    bool lost;
    int64_t lost_ns;
} probe_gpu_device;

typedef struct {
    bool final;
    bool mock;
    char driver[NVML_DRIVER_SIZE];
    probe_gpus gpus;          /* how the devices were chosen */
    bool ambiguous;           /* the choice may be another than CUDA's; scope_note says why */
    probe_pid_view pids;      /* what the driver's process numbers are worth */
    int count;                /* devices of the task */
    int64_t busy_ns;          /* time in which at least one device was busy */
    uint64_t peak_used_bytes; /* largest sum of memory in use */
    int64_t peak_used_ns;     /* when it was reached first */
    int64_t written_ns;
    char scope_note[PROBE_GPU_NOTE_SIZE]; /* what is to be said of the choice; may be empty */
    char note[PROBE_GPU_NOTE_SIZE]; /* why nothing, or less, could be read; empty: nothing to say */
    probe_gpu_device device[PROBE_GPU_MAX];
} probe_gpu_snapshot;

typedef struct {
    uint64_t layout;            /* PROBE_GPU_PAGE_LAYOUT: wrapper and helper are of one build */
    _Atomic uint64_t published; /* how many snapshots; the newest one is in slot published % 2 */
    probe_gpu_snapshot slot[2];
} probe_gpu_page;

#define PROBE_GPU_PAGE_LAYOUT ((uint64_t)sizeof(probe_gpu_page) << 8 | 1)

/* Descriptors that the helper finds open. */
enum { PROBE_HELPER_CHANNEL_FD = 3, PROBE_HELPER_PAGE_FD = 4 };

/* The helper's side: copies snapshot to the older slot and makes it the newest. */
static inline void probe_gpu_publish(probe_gpu_page *page, const probe_gpu_snapshot *snapshot) {
    uint64_t next = atomic_load_explicit(&page->published, memory_order_relaxed) + 1;
    /* Whoever sees a byte of what follows also sees that the slot is not the newest any more. */
    atomic_thread_fence(memory_order_release);
    page->slot[next % 2] = *snapshot;
    atomic_store_explicit(&page->published, next, memory_order_release);
}

/* The readers' side: copies the newest snapshot. False: there is none yet, or a writer that never
 * pauses; snapshot is as it was. */
static inline bool probe_gpu_latest(probe_gpu_page *page, probe_gpu_snapshot *snapshot) {
    for (int tries = 0; tries < 8; tries++) {
        uint64_t seen = atomic_load_explicit(&page->published, memory_order_acquire);
        if (seen == 0) {
            return false;
        }
        probe_gpu_snapshot copy = page->slot[seen % 2]; /* torn, if it is rewritten meanwhile */
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&page->published, memory_order_relaxed) == seen) {
            *snapshot = copy;
            return true;
        }
    }
    return false;
}

#endif
