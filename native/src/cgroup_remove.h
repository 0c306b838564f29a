/* Groups that wrappers made: their names, and how they go away. */
#ifndef PROBE_CGROUP_REMOVE_H
#define PROBE_CGROUP_REMOVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Who made a group. A pid means something in its own PID namespace only, and one directory may be
 * visible in several. */
typedef struct {
    pid_t pid;
    uint64_t start_ticks; /* with the pid it identifies a process */
    uint64_t pid_ns;      /* inode number */
} probe_cgroup_maker;

enum { PROBE_CGROUP_NAME_SIZE = 80 };

/* This process. False when /proc does not tell. */
bool probe_cgroup_maker_self(const char *proc_root, probe_cgroup_maker *maker);

/* "gpu-probe.PID.START.NAMESPACE". */
void probe_cgroup_maker_name(const probe_cgroup_maker *maker, char name[PROBE_CGROUP_NAME_SIZE]);

/* Whether name is one that maker_name writes; maker is then whose. */
bool probe_cgroup_maker_parse(const char *name, probe_cgroup_maker *maker);

/* Whether maker has certainly ended. False for makers of other PID namespaces than self's. */
bool probe_cgroup_maker_ended(const probe_cgroup_maker *maker, const char *proc_root,
                              const probe_cgroup_maker *self);

/* Moves the processes that are left in parent's group name into parent, and removes the group.
 * Returns 0, or the errno of what failed; a group that is gone already is no failure. Groups below
 * it are somebody's: with one of them EBUSY (ENOTEMPTY) comes back. */
int probe_cgroup_remove(const char *parent, const char *name);

/* Removes the groups in parent whose makers have ended without doing so. */
void probe_cgroup_remove_stale(const char *parent, const char *proc_root,
                               const probe_cgroup_maker *self);

#endif
