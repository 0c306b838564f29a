/* Who else is in a control group. */
#ifndef PROBE_CGROUP_MEMBERS_H
#define PROBE_CGROUP_MEMBERS_H

#include <stdbool.h>

/* Whether directory's cgroup.procs lists a process other than pid ("self" for the caller) and its
 * ancestors. True as well when that cannot be ruled out: a process outside our PID namespace
 * (listed as 0), a list that cannot be read, or one that lacks pid itself, so that the directory
 * stands for a group above it. */
bool probe_cgroup_shared(const char *directory, const char *proc_root, const char *pid);

#endif
