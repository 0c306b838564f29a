#include "kinship.h"

#include "file.h"
#include "proc_reader.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 1024 };

/* The host's own PID namespace has a fixed inode number, PROC_PID_INIT_INO of the kernel. */
static const char host_namespace[] = "pid:[4026531836]";

/* False: an ancestor ended during the walk, and its child has another parent now. */
static bool climb(const char *proc_root, pid_t pid, pid_t root, probe_kin *kin) {
    *kin = PROBE_KIN_STRANGER;
    for (int depth = 0; depth < DEPTH_MAX && pid > 0; depth++) {
        probe_proc_stat stat;
        if (pid == root) {
            *kin = PROBE_KIN_OWN;
            return true;
        }
        if (probe_proc_read_stat(proc_root, pid, &stat) != PROBE_OK) {
            return false;
        }
        pid = stat.ppid;
    }
    return true;
}

probe_kin probe_kinship(const char *proc_root, pid_t pid, pid_t root) {
    probe_kin kin = PROBE_KIN_UNKNOWN;
    if (pid <= 0) {
        return kin;
    }
    for (int tries = 0; tries < 3; tries++) {
        probe_proc_stat stat;
        if (pid != root && probe_proc_read_stat(proc_root, pid, &stat) != PROBE_OK) {
            /* /proc may hide other users' processes, but a signal tells that they are there */
            return kill(pid, 0) != 0 && errno == EPERM ? PROBE_KIN_STRANGER : PROBE_KIN_UNKNOWN;
        }
        if (climb(proc_root, pid, root, &kin)) {
            return kin;
        }
    }
    return PROBE_KIN_STRANGER; /* its ancestors are hidden, which the task's own are not */
}

static bool translates(const char *driver) {
    char *end = NULL;
    long branch = strtol(driver, &end, 10);
    long release = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return branch > 535 || (branch == 535 && release >= 113);
}

probe_pid_view probe_pid_view_of(const char *proc_root, const char *driver) {
    char path[PATH_MAX], name[64] = "";
    ssize_t length = -1;
    if (probe_proc_view_of(proc_root) == PROBE_PROC_OTHERS) {
        return PROBE_PIDS_FOREIGN;
    }
    if (probe_path_join(path, sizeof path, proc_root, "self/ns/pid") == PROBE_OK) {
        length = readlink(path, name, sizeof name - 1);
    }
    if (length > 0) {
        name[length] = '\0';
    }
    if (strcmp(name, host_namespace) == 0) {
        return PROBE_PIDS_ALL;
    }
    return translates(driver) ? PROBE_PIDS_OURS : PROBE_PIDS_FOREIGN;
}
