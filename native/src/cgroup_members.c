#include "cgroup_members.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Deeper trees exist only where something is wrong; what is beyond counts as a stranger. */
#define FAMILY_MAX 64

typedef struct {
    uint64_t pids[FAMILY_MAX]; /* the process, its parent, ... */
    size_t count;
    bool present; /* the process itself was in the list */
    bool strangers;
} family;

/* Status rather than stat: a process name cannot forge a line of it. */
static bool status_number(const char *proc_root, const char *pid, const char *key,
                          uint64_t *number) {
    char path[PATH_MAX];
    char text[512]; /* the first lines suffice */
    int n = snprintf(path, sizeof path, "%s/%s/status", proc_root, pid);
    if (n < 0 || (size_t)n >= sizeof path) {
        return false;
    }
    probe_status status = probe_file_read(AT_FDCWD, path, text, sizeof text, NULL);
    return (status == PROBE_OK || status == PROBE_E_OVERFLOW) &&
           probe_find_u64(text, key, ':', number);
}

static void collect_family(family *kin, const char *proc_root, const char *pid) {
    uint64_t number = 0;
    char parent[24];
    bool found = status_number(proc_root, pid, "Pid", &number);
    while (found && number != 0 && kin->count < FAMILY_MAX) {
        kin->pids[kin->count++] = number;
        found = status_number(proc_root, pid, "PPid", &number);
        (void)snprintf(parent, sizeof parent, "%" PRIu64, number);
        pid = parent;
    }
}

static void meet(family *kin, uint64_t pid) {
    for (size_t i = 0; i < kin->count; i++) {
        if (kin->pids[i] == pid) {
            kin->present = kin->present || i == 0;
            return;
        }
    }
    kin->strangers = true;
}

/* False when the list cannot be read to its end (EOPNOTSUPP in a threaded group). */
static bool meet_all(family *kin, int fd) {
    char chunk[4096];
    uint64_t pid = 0;
    bool digits = false; /* a number may continue in the next chunk */
    while (!kin->strangers) {
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
                meet(kin, pid);
                pid = 0;
                digits = false;
            }
        }
    }
    return true;
}

bool probe_cgroup_shared(const char *directory, const char *proc_root, const char *pid) {
    family kin = {0};
    char path[PATH_MAX];
    collect_family(&kin, proc_root, pid);
    if (probe_path_join(path, sizeof path, directory, "cgroup.procs") != PROBE_OK) {
        return true;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return true;
    }
    bool complete = meet_all(&kin, fd);
    (void)close(fd); /* read-only: nothing to lose */
    return !complete || !kin.present || kin.strangers;
}
