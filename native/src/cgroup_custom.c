#include "cgroup_hierarchy.h"
#include "cgroup_members.h"
#include "file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool lists(const char *directory, unsigned int pid) {
    probe_cgroup_members members;
    probe_cgroup_members_read(&members, directory);
    return probe_cgroup_members_has(&members, pid);
}

/* The group "/" is the root of the hierarchy or of a namespace. The list of the hierarchy's root
 * may be endless, and is not needed: whatever the mount table said, this directory would be taken,
 * and as a root be left out. */
static bool is_hosts_root(const probe_hierarchy *wanted) {
    return wanted->controller != NULL
               ? probe_cgroup_has_file(wanted->directory, "release_agent")
               : probe_cgroup_has_file(wanted->directory, "cgroup.procs") &&
                     !probe_cgroup_has_file(wanted->directory, "cgroup.events");
}

static bool prove(probe_hierarchy *wanted, const char *fs_root, const char *name,
                  unsigned int pid) {
    bool root = strcmp(wanted->group, "/") == 0;
    int m = snprintf(wanted->mount, PATH_MAX, "%s/sys/fs/cgroup%s", fs_root, name);
    int n = snprintf(wanted->directory, PATH_MAX, "%s%s", wanted->mount, root ? "" : wanted->group);
    wanted->exact = true;
    return m > 0 && m < PATH_MAX && n > 0 && n < PATH_MAX &&
           ((root && is_hosts_root(wanted)) || lists(wanted->directory, pid));
}

bool probe_cgroup_from_custom(probe_hierarchy all[PROBE_HIERARCHIES], const char *fs_root,
                              unsigned int pid) {
    bool any_v1 = false, proven = true;
    for (int i = 0; i < PROBE_HIERARCHIES; i++) {
        any_v1 = any_v1 || (all[i].controller != NULL && all[i].group[0] != '\0');
    }
    for (int i = 0; i < PROBE_HIERARCHIES && proven; i++) {
        char name[32];
        const char *controller = all[i].controller != NULL ? all[i].controller : "unified";
        (void)snprintf(name, sizeof name, "/%s", controller);
        if (all[i].controller == NULL && !any_v1) {
            name[0] = '\0';
        }
        proven = all[i].group[0] == '\0' || prove(&all[i], fs_root, name, pid);
    }
    for (int i = 0; i < PROBE_HIERARCHIES && !proven; i++) {
        all[i].mount[0] = all[i].directory[0] = '\0';
        all[i].exact = false;
    }
    return proven;
}
