/* What a task has used so far: the kernel's exact counters for everything that was waited for, plus
 * what live processes show now. */
#ifndef PROBE_USAGE_H
#define PROBE_USAGE_H

#include "proc_reader.h"
#include "proc_tree.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

typedef struct {
    int64_t cpu_usec;
    int64_t voluntary, involuntary; /* context switches */
    int64_t io[6];                  /* in the order of probe_proc_io */
    bool io_valid;
    uint32_t alive; /* processes that have not ended: they count with what they show now */
    uint64_t
        maxrss_kib; /* largest ru_maxrss of one process; 0: none is known to belong to the task */
} probe_usage;

/* Whose usage: the descendants of this process (a wrapper), or the process itself and its
 * descendants (in-process use). */
typedef enum { PROBE_SCOPE_DESCENDANTS, PROBE_SCOPE_PROCESS } probe_usage_scope;

typedef struct {
    const char *proc_root;
    probe_usage_scope scope;
    probe_usage baseline;
    uint64_t baseline_maxrss_kib;
    int thread_io, process_io; /* this thread's and this process's io files, kept open; or -1 */
    probe_usage excluded;      /* waited for by this process, but not the task's */
} probe_usage_reader;

/* Takes the baseline. tree: the live descendants now. Call it, and everything below, from the
 * measuring thread: its own share is left out. */
void probe_usage_open(probe_usage_reader *reader, const char *proc_root, probe_usage_scope scope,
                      const probe_tree *tree);

void probe_usage_close(probe_usage_reader *reader);

/* Usage since open; nothing is below 0. tree: the live descendants now. */
void probe_usage_read(const probe_usage_reader *reader, const probe_tree *tree, probe_usage *usage);

/* CPU time alone since open, microseconds: as probe_usage_read, at a fraction of its cost. */
int64_t probe_usage_read_cpu(const probe_usage_reader *reader, const probe_tree *tree);

/* Leaves out a child that was waited for and is not the task's. io: its figures as a zombie; NULL
 * when they could not be read. */
void probe_usage_exclude(probe_usage_reader *reader, const struct rusage *usage,
                         const probe_proc_io *io);

#endif
