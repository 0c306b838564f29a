#include "cgroup_remove.h"

#include "file.h"
#include "lines.h"
#include "proc_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "gpu-probe.";

bool probe_cgroup_maker_self(const char *proc_root, probe_cgroup_maker *maker) {
    char path[PATH_MAX];
    struct stat link;
    probe_proc_stat stat_line;
    *maker = (probe_cgroup_maker){.pid = getpid()};
    if (probe_path_join(path, sizeof path, proc_root, "self/ns/pid") != PROBE_OK ||
        stat(path, &link) != 0 || probe_proc_read_own_stat(proc_root, &stat_line) != PROBE_OK) {
        return false;
    }
    maker->start_ticks = stat_line.start_ticks;
    maker->pid_ns = link.st_ino;
    return true;
}

void probe_cgroup_maker_name(const probe_cgroup_maker *maker, char name[PROBE_CGROUP_NAME_SIZE]) {
    (void)snprintf(name, PROBE_CGROUP_NAME_SIZE, "%s%d.%" PRIu64 ".%" PRIu64, prefix,
                   (int)maker->pid, maker->start_ticks, maker->pid_ns);
}

bool probe_cgroup_maker_parse(const char *name, probe_cgroup_maker *maker) {
    char again[PROBE_CGROUP_NAME_SIZE];
    uint64_t number[3] = {0};
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    const char *at = name + sizeof prefix - 1;
    for (size_t i = 0; i < 3; i++) {
        if (!probe_parse_u64(at, &number[i], &at) || *at != (i < 2 ? '.' : '\0')) {
            return false;
        }
        at++;
    }
    if (number[0] == 0 || number[0] > INT_MAX) {
        return false;
    }
    *maker = (probe_cgroup_maker){(pid_t)number[0], number[1], number[2]};
    probe_cgroup_maker_name(maker, again);
    return strcmp(name, again) == 0; /* no leading zeros, no blanks: nobody else's name */
}

bool probe_cgroup_maker_ended(const probe_cgroup_maker *maker, const char *proc_root,
                              const probe_cgroup_maker *self) {
    return maker->pid_ns == self->pid_ns &&
           probe_proc_ended(proc_root, maker->pid, maker->start_ticks);
}

/* Every process of group into parent's. One write moves one process, with all its threads. */
static void move_all(const char *parent, const char *group) {
    char path[PATH_MAX];
    probe_lines lines;
    if (probe_path_join(path, sizeof path, parent, "cgroup.procs") != PROBE_OK) {
        return;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    if (probe_path_join(path, sizeof path, group, "cgroup.procs") == PROBE_OK &&
        probe_lines_open(&lines, path) == PROBE_OK) {
        for (const char *pid; (pid = probe_lines_next(&lines)) != NULL;) {
            if (strcmp(pid, "0") != 0) { /* outside our namespace; to the kernel: ourselves */
                (void)!write(fd, pid, strlen(pid));
            }
        }
        probe_lines_close(&lines);
    }
    (void)close(fd);
}

int probe_cgroup_remove(const char *parent, const char *name) {
    enum { ATTEMPTS = 10 }; /* a leftover may fork while it is moved, or be about to end */
    const struct timespec pause = {.tv_nsec = 2000000};
    char group[PATH_MAX];
    if (probe_path_join(group, sizeof group, parent, name) != PROBE_OK) {
        return ENAMETOOLONG;
    }
    for (int attempt = 1;; attempt++) {
        if (rmdir(group) == 0 || errno == ENOENT) {
            return 0;
        }
        int code = errno;
        if ((code != EBUSY && code != ENOTEMPTY) || attempt == ATTEMPTS) {
            return code;
        }
        if (attempt > 1) {
            (void)nanosleep(&pause, NULL);
        }
        move_all(parent, group);
    }
}

void probe_cgroup_remove_stale(const char *parent, const char *proc_root,
                               const probe_cgroup_maker *self) {
    DIR *groups = opendir(parent);
    if (groups == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(groups)) != NULL;) {
        probe_cgroup_maker maker;
        if (probe_cgroup_maker_parse(entry->d_name, &maker) &&
            probe_cgroup_maker_ended(&maker, proc_root, self)) {
            (void)probe_cgroup_remove(parent, entry->d_name);
        }
    }
    (void)closedir(groups);
}
