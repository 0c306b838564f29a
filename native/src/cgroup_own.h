/* A control group made for the task, below the wrapper's: its peaks are the task's alone, and it
 * holds daemons and children that nobody waits for as well. */
#ifndef PROBE_CGROUP_OWN_H
#define PROBE_CGROUP_OWN_H

#include "cgroup_reader.h"
#include "cgroup_remove.h"
#include <limits.h>
#include <stdbool.h>

/* One group per hierarchy. On pure v2 there is PROBE_OWN_MEMORY only. */
typedef enum {
    PROBE_OWN_MEMORY,
    PROBE_OWN_CPUACCT,
    PROBE_OWN_UNIFIED, /* beside v1, for PSI */
    PROBE_OWN_COUNT
} probe_own_hierarchy;

enum { PROBE_OWN_NOTES = 2 };

typedef struct {
    char handed_down[PATH_MAX]; /* we let this group hand the memory controller down; or empty */
    bool active;                /* the memory group exists; false: there is none at all */
    probe_cgroup_paths paths;   /* what a reader reads */
    char name[PROBE_CGROUP_NAME_SIZE];
    char parent[PROBE_OWN_COUNT][PATH_MAX]; /* the wrapper's own; empty: no group of ours there */
    int procs[PROBE_OWN_COUNT]; /* cgroup.procs of the groups: who writes "0" enters; -1: none */
    char notes[PROBE_OWN_NOTES][256]; /* what went wrong, one sentence each; empty: nothing */
} probe_cgroup_own;

/* Cleans up after wrappers that died, and makes the groups. Never fails: without a group for memory
 * there is none, and a note says why. */
void probe_cgroup_own_open(probe_cgroup_own *own, const char *proc_root, const char *fs_root);

/* The command has entered, or not: errors holds an errno per hierarchy, 0 where it is in. Closes
 * procs. False when it is not in all of the groups: what they tell is not the task's then. */
bool probe_cgroup_own_entered(probe_cgroup_own *own, const int errors[PROBE_OWN_COUNT]);

/* The task has ended: moves what it left running back to the wrapper's groups, and removes its own.
 * Does nothing the second time, or without groups. */
void probe_cgroup_own_close(probe_cgroup_own *own);

/* The same for whoever only wanted to know whether it can be done: what was handed down is taken
 * back, unless there are other groups by now. */
void probe_cgroup_own_forget(probe_cgroup_own *own);

#endif
