/* Whether a process that somebody names by its number belongs to the task. */
#ifndef PROBE_KINSHIP_H
#define PROBE_KINSHIP_H

#include <sys/types.h>

typedef enum {
    PROBE_KIN_OWN,      /* root, or a descendant of it */
    PROBE_KIN_STRANGER, /* another process of this PID namespace */
    PROBE_KIN_UNKNOWN   /* no process here has this number: it ended, or is of another namespace */
} probe_kin;

/* Follows the parents from pid upwards, through the files stat below proc_root. */
probe_kin probe_kinship(const char *proc_root, pid_t pid, pid_t root);

/* What the numbers of processes that a driver tells are worth here. */
typedef enum {
    PROBE_PIDS_ALL,     /* this is the host's own PID namespace: every process is told */
    PROBE_PIDS_OURS,    /* processes of other namespaces are left out */
    PROBE_PIDS_FOREIGN, /* the host's numbers, which mean other processes here, or none; or /proc
                           has another namespace's, so that no parent can be looked up */
} probe_pid_view;

/* driver: its version. Drivers translate numbers into the caller's namespace since 535.113.01. */
probe_pid_view probe_pid_view_of(const char *proc_root, const char *driver);

#endif
