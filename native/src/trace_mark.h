/* How a wrapper within another one recognizes it, from before the first trace on: by an open
 * descriptor, whose name below /proc/PID/fd says where that one writes. It is no file's. */
#ifndef PROBE_TRACE_MARK_H
#define PROBE_TRACE_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

typedef struct {
    char within[33]; /* run_id of the nearest ancestor that writes to this directory; empty: none */
    bool same_name;  /* one of them writes this very file */
} probe_trace_ancestors;

/* This process writes name in directory. Returns the descriptor, or -1 where the kernel has no such
 * (memfd_create, Linux 3.17): descendants then have the trace itself to go by. */
int probe_trace_mark(const char *run_id, const struct stat *directory, const char *name);

/* Which ancestors of this process have such marks. */
void probe_trace_ancestors_find(const char *proc_root, const struct stat *directory,
                                const char *name, probe_trace_ancestors *found);

#endif
