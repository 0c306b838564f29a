/* One measurement from start to final trace: sampler, GPU helper and trace file on one clock.
 * Shared by the wrapper and the in-process sampler. */
#ifndef PROBE_MEASUREMENT_H
#define PROBE_MEASUREMENT_H

#include "cgroup_own.h"
#include "gpu_reader.h"
#include "sampler.h"
#include "timeline_feed.h"
#include "trace.h"
#include "trace_aside.h"
#include "trace_place.h"
#include "trace_writer.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *workdir;      /* where .fusion/trace.json goes; NULL: no file is written */
    const char *trace_file;   /* exactly this file instead; may be NULL */
    const char *copy_to;      /* a directory for a copy of it; may be NULL */
    const char *helper_path;  /* NULL: no GPU figures */
    const char *nvml_library; /* NULL: the driver's own */
    const char *gpus;         /* which: as in probe_gpu_config */
    probe_usage_scope scope;
    int64_t interval_ns;
    probe_cgroup_mode cgroup_mode;
    bool timeline;                  /* also write timeline.json beside the trace */
    int64_t budget_ppm;             /* share of one CPU that sampling may take; 0: no limit */
    int max_descriptors;            /* that samples may keep open */
    probe_trace_start start_writer; /* where a file system may hang; NULL: by own hands */
} probe_measurement_config;

/* How a command ended; zero for in-process use. */
typedef struct {
    bool exited, signalled;
    int exit_status, signal;
    const char *unexecuted; /* why nothing ran; NULL: it did */
} probe_outcome;

typedef struct {
    probe_measurement_config config; /* its strings are the caller's */
    probe_cgroup_own own;            /* made with PROBE_CGROUP_OWN */
    char cgroup_note[320];
    probe_sampler sampler;
    probe_gpu_reader gpu;
    probe_trace_place place;
    probe_trace_writer writer;
    probe_trace_aside copy;
    probe_trace_aside checkpoints; /* where each write to the place is an upload */
    probe_trace trace;             /* as of the last checkpoint or the end */
    probe_timeline_feed *timeline; /* NULL: none */
    char timeline_note[192];       /* why there is none, or no newer one */
    bool awaited;                  /* checkpoints are waited for, as the final trace is */
    bool abandoned;                /* closed while a thread was writing: this memory must stay */
    int64_t next_checkpoint_ns;
    uint64_t random;        /* state of the schedule's jitter */
    uint64_t oom_kills;     /* of the task's group, as of the last sample */
    probe_error file_error; /* why there is no trace, or no newer one */
    char alive_note[112];
    char unexecuted_note[128];
    size_t json_length;
    char json[PROBE_TRACE_SIZE]; /* the trace as text */
} probe_measurement;

/* Opens the place of the trace and takes the baselines: what must be done before the task starts. A
 * place that was named is waited for one second at most. Without a place for the trace, everything
 * else goes on. False: a wrapper that this one runs in writes this very trace, and there is nothing
 * to measure; close it. */
bool probe_measurement_open(probe_measurement *m, const probe_measurement_config *config);

/* The task starts now. */
void probe_measurement_start(probe_measurement *m);

/* The command has been executed, and has entered the groups of own.procs or not: an errno each. */
void probe_measurement_entered(probe_measurement *m, const int errors[PROBE_OWN_COUNT]);

/* The task runs: first sample, GPU helper, the place of the trace, everything that could wait. The
 * first trace is due with the second sample; whoever wants it at once asks for a checkpoint. */
void probe_measurement_begin(probe_measurement *m);

/* When the next step is due, CLOCK_MONOTONIC. */
int64_t probe_measurement_next_ns(const probe_measurement *m);

/* Does what is due: a sample, a checkpoint. */
void probe_measurement_step(probe_measurement *m);

/* Writes the trace as it stands now. */
void probe_measurement_checkpoint(probe_measurement *m);

/* The command could not be executed, before or after begin: nothing is measured, but a final trace
 * will say so. */
void probe_measurement_unexecuted(probe_measurement *m);

/* The task has ended but, if it is a child, is not reaped yet: last readings of what goes away with
 * it. */
void probe_measurement_end(probe_measurement *m);

/* Writes the final trace, with the figures as of end_ns. All children that are the task's have been
 * reaped. */
void probe_measurement_finish(probe_measurement *m, int64_t end_ns, const probe_outcome *outcome);

/* Whether a child is one of this measurement's own, not the task's. */
bool probe_measurement_owns(const probe_measurement *m, pid_t pid);

/* Such a child was waited for, with this status; as probe_usage_exclude. */
void probe_measurement_reaped(probe_measurement *m, pid_t pid, int status,
                              const struct rusage *usage, const probe_proc_io *io);

/* Also without begin and finish, when the command could not be executed. */
void probe_measurement_close(probe_measurement *m);

#endif
