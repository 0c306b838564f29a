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

typedef struct {
    const char *workdir;    /* NULL together with trace_file: nowhere */
    const char *trace_file; /* exactly this file; may be NULL */
    const char *copy_to;    /* a directory for a copy under a unique name; may be NULL */
    const char *run_id;
    const char *proc_root;
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
    probe_trace_file local;          /* checkpoints, where each write to the place is an upload */
    probe_trace_file copy;
    int mark; /* descriptor by which wrappers within this one recognize it; -1: none */
    probe_trace_job job;
    probe_place_level level;
    bool seen_any;     /* the file of that name may be replaced if it is still this one: */
    struct stat seen;  /* device, inode and time of modification */
    bool stale;        /* it is a trace of an earlier measurement */
    bool written;      /* this measurement wrote it */
    bool tidied;       /* an earlier measurement's timeline has been looked for */
    bool swept;        /* what killed writers left has been removed */
    bool nested;       /* with may_nest: nothing is to be measured, the ancestor does */
    char base[256];    /* the plain name */
    char within[33];   /* run_id of an ancestor that measures this process too; empty: none */
    probe_error error; /* why there is no trace, or no newer one */
    probe_error copy_error;
    probe_error timeline_error;
    char elsewhere[PATH_MAX]; /* where the final trace went instead; empty: nowhere */
} probe_trace_place;

typedef struct {
    const char *trace, *timeline; /* timeline may be NULL */
    size_t trace_length, timeline_length;
    bool final;
} probe_trace_parcel;

/* Never fails: without a place, error says why. */
void probe_trace_place_open(probe_trace_place *place, const probe_trace_place_config *config);

/* Who writes here: this process, on host. Its temporary files can be told from a dead writer's from
 * now on, and those are removed with the first delivery. */
void probe_trace_place_sign(probe_trace_place *place, const probe_host *host);

/* Whether there is anywhere to write to. */
bool probe_trace_place_any(const probe_trace_place *place);

/* Whether one of its file systems may leave a write without an answer: anything that is not known
 * to be local. */
bool probe_trace_place_may_hang(const probe_trace_place *place);

/* Writes trace, timeline and copy, and sets the three errors. A final trace that has found its
 * place makes the local checkpoint needless: it is removed. */
void probe_trace_place_deliver(probe_trace_place *place, const probe_trace_parcel *parcel);

/* The final trace has found no place: writes it to $TMPDIR/gpu-probe-UID (or below /tmp), and then
 * sets elsewhere. */
void probe_trace_place_rescue(probe_trace_place *place, const probe_trace_parcel *parcel);

/* The directory of that: its path. False: it does not fit. */
bool probe_trace_place_rescue_directory(char *path, size_t size);

void probe_trace_place_close(probe_trace_place *place);

#endif
