/* Who else is in a control group. */
#ifndef PROBE_CGROUP_MEMBERS_H
#define PROBE_CGROUP_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A family is smaller: a longer list has strangers in it. */
enum { PROBE_CGROUP_MEMBERS = 64 };

typedef struct {
    size_t count;
    uint64_t pid[PROBE_CGROUP_MEMBERS];
    bool complete; /* false: there are more, or the list could not be read to its end */
} probe_cgroup_members;

/* Takes down directory's cgroup.procs as it is now. */
void probe_cgroup_members_read(probe_cgroup_members *members, const char *directory);

/* Whether pid is among those that were taken down. */
bool probe_cgroup_members_has(const probe_cgroup_members *members, uint64_t pid);

/* Whether there is another process among them than pid ("self" for the caller) and its ancestors.
 * True as well when that cannot be ruled out: a process outside our PID namespace (listed as 0), a
 * list that is not complete, or one that lacks pid itself, so that the directory stands for a group
 * above it. */
bool probe_cgroup_members_shared(const probe_cgroup_members *members, const char *proc_root,
                                 const char *pid);

#endif
