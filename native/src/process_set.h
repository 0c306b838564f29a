/* The processes of a tree, with descriptors of their files kept open from sample to sample: reading
 * a file of /proc again costs a fraction of opening it. A kept descriptor stays with its process:
 * when that is gone it reads nothing (ESRCH), even if the pid has been given away again. */
#ifndef PROBE_PROCESS_SET_H
#define PROBE_PROCESS_SET_H

#include "proc_reader.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More processes and threads than these are read by opening their files each time. */
enum { PROBE_KEPT_PROCESSES = 128, PROBE_KEPT_THREADS = 512 };

typedef struct {
    pid_t pid; /* 0: a free place */
    uint32_t walk;
    int task, children, statm, status; /* descriptors; -1: not open. children: the main thread's */
    int first_thread;                  /* the others, in the order of their creation; -1: none */
    uint64_t vm_peak_kib, vm_hwm_kib;  /* as last read, or what it held since if that is more */
    uint32_t readings;
} probe_process;

typedef struct {
    pid_t tid; /* 0: a free place */
    int children;
    int next; /* thread of the same process; -1: the last one */
} probe_thread;

typedef struct {
    const char *proc_root; /* kept, not copied */
    int descriptors, max_descriptors;
    uint64_t page_kib;
    uint32_t walk;    /* number of the walk under way */
    bool no_children; /* this kernel has no children files */
    size_t hint;      /* where the next process that is looked for probably stands */
    probe_process process[PROBE_KEPT_PROCESSES];
    probe_thread thread[PROBE_KEPT_THREADS];
} probe_process_set;

/* At most max_descriptors are kept open. */
void probe_process_set_open(probe_process_set *set, const char *proc_root, int max_descriptors);

void probe_process_set_close(probe_process_set *set);

/* A walk begins; processes that it does not meet are let go when the next one ends. */
void probe_process_set_begin(probe_process_set *set);
void probe_process_set_end(probe_process_set *set);

/* What is done with one children file, which is at its beginning. */
typedef void probe_children_visit(void *context, int fd);

/* Meets the process pid and visits the children file of each of its threads. */
void probe_process_set_visit(probe_process_set *set, pid_t pid, probe_children_visit *visit,
                             void *context);

/* The memory of a process that the last walk met. The high-water marks are the largest known: they
 * are read at first sight, when the process holds more than is known of, at every fifth reading,
 * and always if thorough. PROBE_E_ABSENT: a zombie. PROBE_E_SYSCALL: gone. */
probe_status probe_process_set_read_memory(probe_process_set *set, pid_t pid, bool thorough,
                                           probe_proc_memory *memory);

#endif
