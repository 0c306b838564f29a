#include "cgroup_members.h"

#include "file.h"
#include "proc_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* Status rather than stat: a process name cannot forge a line of it. */
static bool read_parent(const char *proc_root, const char *pid, uint64_t *own, uint64_t *parent) {
    char path[PATH_MAX];
    char text[4096]; /* all of it: to cut it short costs the kernel a second time */
    int n = snprintf(path, sizeof path, "%s/%s/status", proc_root, pid);
    if (n < 0 || (size_t)n >= sizeof path) {
        return false;
    }
    probe_status status = probe_file_read(AT_FDCWD, path, text, sizeof text, NULL);
    return (status == PROBE_OK || status == PROBE_E_OVERFLOW) &&
           probe_find_u64(text, "Pid", ':', own) && probe_find_u64(text, "PPid", ':', parent);
}

bool probe_cgroup_members_has(const probe_cgroup_members *members, uint64_t pid) {
    for (size_t i = 0; i < members->count; i++) {
        if (members->pid[i] == pid) {
            return true;
        }
    }
    return false;
}

/* The list may have one twice. False: no room. */
static bool add(probe_cgroup_members *members, uint64_t pid) {
    if (probe_cgroup_members_has(members, pid)) {
        return true;
    }
    if (members->count == PROBE_CGROUP_MEMBERS) {
        return false;
    }
    members->pid[members->count++] = pid;
    return true;
}

/* False when the list cannot be read to its end (EOPNOTSUPP in a threaded group), or is too long.
 */
static bool add_all(probe_cgroup_members *members, int fd) {
    char chunk[1024];
    uint64_t pid = 0;
    bool digits = false; /* a number may continue in the next chunk */
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0;
        }
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] >= '0' && chunk[i] <= '9') {
                pid = pid * 10 + (uint64_t)(chunk[i] - '0');
                digits = true;
            } else if (digits) {
                if (!add(members, pid)) {
                    return false;
                }
                pid = 0;
                digits = false;
            }
        }
    }
}

void probe_cgroup_members_read(probe_cgroup_members *members, const char *directory) {
    char path[PATH_MAX];
    members->count = 0;
    members->complete = false;
    if (probe_path_join(path, sizeof path, directory, "cgroup.procs") != PROBE_OK) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    members->complete = add_all(members, fd);
    (void)close(fd); /* read-only: nothing to lose */
}

bool probe_cgroup_members_shared(const probe_cgroup_members *members, const char *proc_root,
                                 const char *pid) {
    uint64_t own = 0, parent = 0;
    char next[24];
    if (!members->complete || probe_proc_view_of(proc_root) != PROBE_PROC_OURS ||
        !read_parent(proc_root, pid, &own, &parent) || !probe_cgroup_members_has(members, own)) {
        return true;
    }
    /* Up the ancestors until all members are accounted for. */
    size_t met = 1;
    for (int depth = 0; met < members->count && parent != 0 && depth < PROBE_CGROUP_MEMBERS;
         depth++) {
        (void)snprintf(next, sizeof next, "%" PRIu64, parent);
        met += probe_cgroup_members_has(members, parent);
        if (!read_parent(proc_root, next, &own, &parent)) {
            break;
        }
    }
    return met < members->count;
}
