#include "trace_author.h"

#include "file.h"
#include "json_find.h"
#include "proc_reader.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 64 };

typedef enum { PROCESS_GONE, PROCESS_RUNS, PROCESS_NOT_KNOWN } process_state;

/* The writer that a probe block names, as far as this host, boot and PID namespace can tell. */
static process_state writer_state(const char *block, const char *proc_root, uint64_t *pid) {
    probe_host here;
    char boot_id[sizeof here.boot_id] = "", hostname[sizeof here.hostname] = "";
    uint64_t started = 0, pid_ns = 0;
    probe_host_read(proc_root, &here);
    (void)probe_json_find_string(block, "hostname", hostname, sizeof hostname);
    (void)probe_json_find_string(block, "boot_id", boot_id, sizeof boot_id);
    bool same_host = strcmp(hostname, here.hostname) == 0;
    bool boots_known = boot_id[0] != '\0' && here.boot_id[0] != '\0';
    bool same_boot = boots_known && strcmp(boot_id, here.boot_id) == 0;
    if (boots_known && !same_boot) {
        return same_host ? PROCESS_GONE : PROCESS_NOT_KNOWN;
    }
    bool other_ns =
        probe_json_find_u64(block, "pid_ns", &pid_ns) && here.pid_ns != 0 && pid_ns != here.pid_ns;
    if ((!same_boot && !same_host) || other_ns || !probe_json_find_u64(block, "pid", pid) ||
        !probe_json_find_u64(block, "pid_start", &started) || *pid == 0 || *pid > INT32_MAX) {
        return PROCESS_NOT_KNOWN;
    }
    probe_proc_stat stat;
    if (probe_proc_read_stat(proc_root, (pid_t)*pid, &stat) != PROBE_OK) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%d", proc_root, (int)*pid);
        bool mounted = probe_proc_read_stat(proc_root, getpid(), &stat) == PROBE_OK;
        return mounted && access(path, F_OK) != 0 ? PROCESS_GONE : PROCESS_NOT_KNOWN;
    }
    bool dead = stat.start_ticks != started || stat.state == 'Z' || stat.state == 'X';
    return dead ? PROCESS_GONE : PROCESS_RUNS;
}

static bool is_ancestor(const char *proc_root, pid_t pid) {
    pid_t at = getppid();
    probe_proc_stat stat;
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++) {
        if (at == pid) {
            return true;
        }
        if (probe_proc_read_stat(proc_root, at, &stat) != PROBE_OK) {
            return false;
        }
        at = stat.ppid;
    }
    return false;
}

probe_author probe_trace_author(const char *text, const char *run_id, const char *proc_root,
                                char author_id[33]) {
    char state[16] = "";
    uint64_t pid = 0;
    author_id[0] = '\0';
    const char *block = probe_json_find(text, "probe");
    if (block == NULL || *block != '{') {
        return PROBE_AUTHOR_FOREIGN;
    }
    if (probe_json_find_string(block, "run_id", author_id, 33) && strcmp(author_id, run_id) == 0) {
        return PROBE_AUTHOR_SELF;
    }
    if (!probe_json_find_string(block, "state", state, sizeof state)) {
        return probe_json_is_whole(text) ? PROBE_AUTHOR_FOREIGN : PROBE_AUTHOR_LIVE;
    }
    if (strcmp(state, "final") == 0) {
        return PROBE_AUTHOR_GONE;
    }
    switch (writer_state(block, proc_root, &pid)) {
    case PROCESS_GONE:
        return PROBE_AUTHOR_GONE;
    case PROCESS_RUNS:
        return is_ancestor(proc_root, (pid_t)pid) ? PROBE_AUTHOR_ANCESTOR : PROBE_AUTHOR_LIVE;
    default:
        return PROBE_AUTHOR_LIVE;
    }
}

static bool has_open(const char *proc_root, pid_t pid, dev_t device, ino_t inode) {
    char path[64];
    (void)snprintf(path, sizeof path, "%s/%d/fd", proc_root, (int)pid);
    DIR *descriptors = opendir(path);
    if (descriptors == NULL) {
        return false;
    }
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(descriptors)) != NULL) {
        struct stat at;
        found = entry->d_name[0] != '.' &&
                fstatat(dirfd(descriptors), entry->d_name, &at, 0) == 0 && S_ISDIR(at.st_mode) &&
                at.st_dev == device && at.st_ino == inode;
    }
    (void)closedir(descriptors);
    return found;
}

bool probe_trace_ancestor_holds(const char *proc_root, dev_t device, ino_t inode) {
    char own[17] = "", path[64], name[64];
    pid_t at = getppid();
    probe_proc_stat stat;
    (void)prctl(PR_GET_NAME, own);
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++) {
        (void)snprintf(path, sizeof path, "%s/%d/comm", proc_root, (int)at);
        if (probe_file_read(AT_FDCWD, path, name, sizeof name, NULL) != PROBE_OK) {
            return false;
        }
        name[strcspn(name, "\n")] = '\0';
        if (strcmp(name, own) == 0 && has_open(proc_root, at, device, inode)) {
            return true;
        }
        if (probe_proc_read_stat(proc_root, at, &stat) != PROBE_OK) {
            return false;
        }
        at = stat.ppid;
    }
    return false;
}
