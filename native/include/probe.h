/* The C interface for in-process use: measures the calling process, its descendants and their GPUs
 * on a native thread of its own. This is all that Python sees. */
#ifndef PROBE_H
#define PROBE_H

#include <stddef.h>
#include <stdint.h>

typedef struct probe_session probe_session;

/* Copied by probe_session_start; NULL means: not given. */
typedef struct {
    const char *workdir; /* .fusion/trace.json is written below it; NULL without trace_file: no file
                            is written */
    const char *trace_file;   /* write exactly this file instead */
    const char *helper_path;  /* the executable gpu-probe-nvml; NULL: no GPU figures */
    const char *nvml_library; /* NULL: the driver's own */
    const char *gpus;         /* which: auto, none, all or a list; NULL: auto */
    int64_t interval_ns;      /* between samples; at least 10 ms */
} probe_session_config;

/* Starts measuring; returns when the baselines are taken and the first trace is written. NULL on
 * failure, with one sentence in error. A place that the trace cannot be written to is a failure
 * here, since nothing has started yet. */
probe_session *probe_session_start(const probe_session_config *config, char *error,
                                   size_t error_size);

/* The trace as it stands now, as JSON; also writes it to the file. Returns its length without the
 * NUL, or -1 if it does not fit into size bytes or the session has stopped. Threads may call it at
 * the same time, but not while or after one stops the session. */
int64_t probe_session_snapshot(probe_session *session, char *json, size_t size);

/* Takes the last readings, writes the final trace, ends the thread. A file system that does not
 * answer delays that by two seconds at most; then a thread that hangs in it stays behind. Returns
 * the length of the final trace, which is copied to json, or -1. Call it once. In a forked child,
 * which has no such thread, it only returns -1. */
int64_t probe_session_stop(probe_session *session, char *json, size_t size);

/* Why the last trace could not be written, one sentence; empty if it was. Valid until
 * probe_session_free. */
const char *probe_session_file_error(const probe_session *session);

/* Frees a stopped session; but for the memory that a hanging write still needs. */
void probe_session_free(probe_session *session);

/* Room that every trace fits into, bytes. */
size_t probe_session_trace_size(void);

const char *probe_version(void);

#endif
