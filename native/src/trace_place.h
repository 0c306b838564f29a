/* Where the trace goes: decided at the start, looked at again before every replacement, so that no
 * running writer's trace and no other program's is ever overwritten. */
#ifndef PROBE_TRACE_PLACE_H
#define PROBE_TRACE_PLACE_H

#include "probe_status.h"
#include "trace_file.h"
#include "trace_name.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct {
    const char *workdir;    /* NULL together with trace_file: nowhere */
    const char *trace_file; /* exactly this file; may be NULL */
    const char *run_id;
    const char *proc_root;
    pid_t pid;     /* of the measuring process, wherever this is looked at; 0: the caller's */
    bool may_nest; /* an ancestor that writes this very trace makes this measurement needless */
} probe_trace_place_config;

typedef enum {
    PROBE_PLACE_PLAIN,  /* trace.json, or the file that the user named */
    PROBE_PLACE_BESIDE, /* gpu-probe.json, beside Fusion's */
    PROBE_PLACE_RANK,   /* trace.JOB.ARRAY.RANK.HOST.json */
    PROBE_PLACE_UNIQUE, /* the same with the process id */
} probe_place_level;

typedef struct {
    probe_trace_place_config config; /* its strings are the caller's */
    probe_trace_file file;           /* its name is the one chosen last */
    int mark;       /* descriptor by which wrappers within this one recognize it; -1: none */
    struct stat at; /* the directory of file, if there is one */
    probe_trace_job job;
    probe_place_level level;
    bool seen_any;     /* the file of that name may be replaced if it is still this one: */
    struct stat seen;  /* device, inode and time of modification */
    bool stale;        /* it is a trace of an earlier measurement */
    bool written;      /* this measurement wrote it */
    bool tidied;       /* an earlier measurement's timeline has been looked for */
    bool swept;        /* what killed writers left has been removed */
    bool may_hang;     /* its file system may leave a write without an answer: it is not known to
                          be local */
    bool uploads;      /* each write is an upload: only the final trace should go here */
    bool nested;       /* with may_nest: nothing is to be measured, the ancestor does */
    char base[256];    /* the plain name */
    char within[33];   /* run_id of an ancestor that measures this process too; empty: none */
    probe_error error; /* why there is no trace, or no newer one */
    probe_error timeline_error;
    char elsewhere[PATH_MAX]; /* where the final trace went instead; empty: nowhere */
    char workdir[PATH_MAX];   /* config's, absolute; empty: there is none, or it is not known yet */
} probe_trace_place;

typedef struct {
    const char *trace, *timeline; /* timeline may be NULL */
    size_t trace_length, timeline_length;
    bool final;
} probe_trace_parcel;

/* Nowhere, but for the text of paths. */
void probe_trace_place_none(probe_trace_place *place);

/* Never fails: without a place, error says why. */
void probe_trace_place_open(probe_trace_place *place, const probe_trace_place_config *config);

/* The same, and settle, in a child that is waited for at most wait_ms: then the error is
 * ETIMEDOUT. *left: that child, if it is still there, killed; 0: none. */
void probe_trace_place_open_within(probe_trace_place *place, const probe_trace_place_config *config,
                                   int wait_ms, pid_t *left);

/* Finds out what can wait until the task runs: workdir and may_hang. */
void probe_trace_place_settle(probe_trace_place *place);

/* Who writes here: this process, on host. Its temporary files can be told from a dead writer's from
 * now on, and those are removed with the first delivery. */
void probe_trace_place_sign(probe_trace_place *place, const probe_host *host);

/* $TMPDIR, or /tmp. */
const char *probe_trace_place_temporary_root(void);

/* Writes trace and timeline, and sets the two errors. */
void probe_trace_place_deliver(probe_trace_place *place, const probe_trace_parcel *parcel);

/* The final trace has found no place: writes it to $TMPDIR/gpu-probe-UID (or below /tmp), and then
 * sets elsewhere. */
void probe_trace_place_rescue(probe_trace_place *place, const probe_trace_parcel *parcel);

/* The directory of that: its path. False: it does not fit. */
bool probe_trace_place_rescue_directory(char *path, size_t size);

void probe_trace_place_close(probe_trace_place *place);

#endif
