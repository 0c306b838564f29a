/* The measuring side of the NVML helper: starts it, reads what it publishes, ends it. */
#ifndef PROBE_GPU_READER_H
#define PROBE_GPU_READER_H

#include "gpu_page.h"
#include "probe_status.h"
#include "proc_reader.h"
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct {
    const char *helper_path;  /* the executable */
    const char *nvml_library; /* NULL: the driver's own */
    const char *gpus;         /* which: auto, none, all or a list (--gpus); NULL: auto */
    const char *dev_root;     /* "/dev": where device nodes show that there may be a GPU */
    int64_t start_ns, interval_ns;
} probe_gpu_config;

typedef struct {
    pid_t pid; /* 0: no helper */
    int channel;
    probe_gpu_page *page;
    const char *library;     /* that was named; the caller's; NULL: the driver's own */
    probe_gpu_snapshot last; /* the newest whole reading; count 0 and empty before the first */
    bool any;
    char note[PROBE_GPU_NOTE_SIZE]; /* why there is no helper; empty: there is one */
    char ended[96];                 /* how the helper ended before its time; empty: it did not */
} probe_gpu_reader;

/* The name of a device node that shows that there may be a GPU; NULL: there is none. Without one no
 * NVML call can succeed, and the driver's library is not even loaded. */
const char *probe_gpu_device_node(const char *dev_root);

/* No helper, no reading. The snapshot is large, is not looked at before any, and is left as it is.
 */
void probe_gpu_none(probe_gpu_reader *reader);

/* Starts the helper, if a library is named or a device node exists; does not wait for it. The task
 * goes on without it: what went wrong is in note. Call it from a thread that lives as long as the
 * reader: the helper dies with it. */
void probe_gpu_open(probe_gpu_reader *reader, const probe_gpu_config *config);

/* Brings last up to date. */
void probe_gpu_read(probe_gpu_reader *reader);

/* Asks for a last reading and waits for it, at most wait_ms, and only if there was a first one: a
 * driver that still starts up, or hangs, is not worth a task's time. The reason why there is
 * nothing to read is waited for where it must come at once: the library that was named is none. */
void probe_gpu_finish(probe_gpu_reader *reader, int wait_ms);

/* Kills and reaps the helper, unmaps the page. */
void probe_gpu_close(probe_gpu_reader *reader);

#endif
