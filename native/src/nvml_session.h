/* One task's measurement through NVML, from loading the library to the last reading: which devices
 * belong to the task, when which of their figures is read, and what is noted. It fills a snapshot
 * and shows it after each kind of figure, the most important ones first, so that a driver that
 * hangs or crashes takes no more with it than what was asked last. It waits for nothing and reads
 * no clock but the given one, so that it also runs in a test's own time. */
#ifndef PROBE_NVML_SESSION_H
#define PROBE_NVML_SESSION_H

#include "gpu_page.h"
#include "integral.h"
#include "nvml_mig.h"
#include "nvml_reader.h"
#include "nvml_sharing.h"
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct {
    const char *library; /* NULL: the driver's own */
    int64_t start_ns;    /* of the task, CLOCK_MONOTONIC */
    int64_t interval_ns; /* between two readings of the gauges; less than 1 s is 1 s */
    int64_t (*clock_ns)(clockid_t id); /* CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME */
    unsigned int seed;                 /* of the jitter between polls */
    probe_gpu_page *page;              /* where what is read is shown at once; NULL: nowhere */
    const char *gpus;                  /* which devices (--gpus); NULL: by the environment */
    const char *proc_root;             /* "/proc" */
    pid_t task;                        /* the task is this process and its descendants */
} nvml_session_config;

/* Some 100 KiB: not for the stack. */
typedef struct {
    nvml_session_config config;
    nvml_api api;
    probe_gpu_snapshot snapshot;
    nvml_reader reader[PROBE_GPU_MAX];
    nvml_mig_list mig;
    nvml_sharing sharing;
    probe_union busy;
    void *events;                                          /* the driver's set; NULL: none */
    int64_t next_gauges_ns, next_health_ns, next_lists_ns; /* since the start of the task */
    bool health_begun;
    bool starting, initialised; /* an answer at the start failed: it is asked for again */
    int tries;
    int64_t next_try_ns; /* since the start of the task */
    unsigned int random;
    bool stopped; /* the driver is gone */
} nvml_session;

/* Loads and initialises NVML and finds the task's devices; the environment names them as it does to
 * CUDA. Without any, the snapshot's note says why. session: zeroed. */
void nvml_session_open(nvml_session *session, const nvml_session_config *config);

/* When the next tick is due, in ns since the start of the task; INT64_MAX: never, because there is
 * nothing to read. The first one is due at once. */
int64_t nvml_session_due_ns(const nvml_session *session);

/* Reads what is due. */
void nvml_session_tick(nvml_session *session);

/* The last tick: reads everything but the process lists, if there is anything to read, and marks
 * the snapshot final. */
void nvml_session_finish(nvml_session *session);

/* Reads the process lists, and what the driver has accounted, a last time. They are slow: what
 * nvml_session_finish has read is worth publishing before. */
void nvml_session_finish_lists(nvml_session *session);

#endif
