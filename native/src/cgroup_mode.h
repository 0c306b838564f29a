/* Which control group the cgroup block is about. */
#ifndef PROBE_CGROUP_MODE_H
#define PROBE_CGROUP_MODE_H

typedef enum {
    PROBE_CGROUP_AUTO,   /* the group that is there, unless it is shared */
    PROBE_CGROUP_OWN,    /* one made for the task, else as AUTO */
    PROBE_CGROUP_SHARED, /* the group that is there */
    PROBE_CGROUP_OFF,    /* none: nothing is read */
} probe_cgroup_mode;

#endif
