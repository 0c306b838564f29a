/* What --check finds out about control groups: which one a trace would be about, whether one of the
 * task's own can be made, and each key. */
#ifndef PROBE_CHECK_CGROUP_H
#define PROBE_CHECK_CGROUP_H

#include "cgroup_own.h"
#include "cgroup_reader.h"
#include "check.h"

typedef struct {
    probe_cgroup_own own; /* made and removed */
    char made[PATH_MAX];  /* below this group */
    bool entered;         /* a process could enter */
    probe_error error;    /* why no group was found */
    const char *shared;   /* why the group is not the task's own; NULL: it is, or there is none */
    probe_cgroup_reader reader;
    probe_cgroup_reading reading;
} probe_check_cgroup_state;

/* Looks, as a wrapper does before its command starts: nothing of the check's must be in the group
 * yet. Leaves nothing behind. */
void probe_check_cgroup_open(probe_check_cgroup_state *state, const probe_check_config *config);

void probe_check_cgroup(probe_check_list *list, const probe_check_cgroup_state *state,
                        const probe_check_config *config);

#endif
