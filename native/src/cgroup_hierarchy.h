/* What the search for a process's control group fills in, one hierarchy after the other. */
#ifndef PROBE_CGROUP_HIERARCHY_H
#define PROBE_CGROUP_HIERARCHY_H

#include "probe_status.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *controller; /* of a v1 hierarchy; NULL = the v2 hierarchy */
    char *directory;        /* results, of PATH_MAX bytes each */
    char *mount;
    bool exact;        /* directory is the group's own, not merely the mount point */
    const char *group; /* the group's path within its hierarchy; empty = not a member */
} probe_hierarchy;

enum { PROBE_HIERARCHIES = 4 };

/* Whether word is one of a list's, which has commas between them. list may be NULL. */
bool probe_cgroup_list_has(const char *list, const char *word);

/* Finds the directories by the mount table of a process, which is right in all cases. */
probe_status probe_cgroup_from_mounts(probe_hierarchy all[PROBE_HIERARCHIES], const char *fs_root,
                                      const char *path);

/* Finds them where every distribution mounts them, if it can be proven that they are those of
 * process pid. False: they are not, or that cannot be told, and nothing has been set. The mount
 * table says the same, but for a short task, to read it is most of the search. */
bool probe_cgroup_from_custom(probe_hierarchy all[PROBE_HIERARCHIES], const char *fs_root,
                              unsigned int pid);

/* Whether there is such a file in directory, which we may read. */
bool probe_cgroup_has_file(const char *directory, const char *name);

#endif
