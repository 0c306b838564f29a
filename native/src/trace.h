/* The content of .fusion/trace.json: everything that is known about one measurement at one instant.
 */
#ifndef PROBE_TRACE_H
#define PROBE_TRACE_H

#include "cgroup_reader.h"
#include "gpu_page.h"
#include "json.h"
#include "probe_status.h"
#include "proc_reader.h"
#include "sampler.h"
#include "trace_name.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROBE_TRACE_NOTES = 8, PROBE_TRACE_SIZE = 128 * 1024 };

typedef struct {
    char run_id[33];
    pid_t pid;
    bool final;
    bool exited, signalled; /* at most one; neither: still running, or not a command */
    int exit_status, signal;
    bool unexecuted;              /* the command never ran */
    const char *workdir;          /* absolute path; NULL or empty: none */
    int64_t start_ms, written_ms; /* ms since 1970 */
    int64_t realtime_ns;
    int64_t interval_ms;
    uint32_t samples;
    int64_t own_cpu_usec; /* of the measuring thread so far */
    const probe_host *host;
    const probe_trace_job *job; /* may be NULL */
    const char *within; /* run_id of a measurement that covers this one; NULL or empty: none */
    probe_proc_block proc;
    probe_cgroup_reading cgroup;
    bool cgroup_shared;            /* the group's memory figures are not the task's alone */
    const probe_gpu_snapshot *gpu; /* NULL: there is nothing to say about GPUs */
    const char *gpu_note; /* why there are no GPU figures, or fewer; may be empty; not copied */
    int note_count;
    const char *notes[PROBE_TRACE_NOTES]; /* not copied */
} probe_trace;

/* Adds a note, unless it is empty or there is no room. */
void probe_trace_note(probe_trace *trace, const char *note);

/* Writes the notes of the probe block. */
void probe_trace_write_notes(probe_json *json, const char *const *notes, int count);

/* 32 hexadecimal digits, random. */
void probe_trace_make_run_id(char run_id[33]);

/* Writes the trace as JSON. PROBE_E_OVERFLOW when it does not fit into size bytes; PROBE_TRACE_SIZE
 * is enough for 16 devices. */
probe_status probe_trace_to_json(const probe_trace *trace, char *buf, size_t size, size_t *length);

#endif
