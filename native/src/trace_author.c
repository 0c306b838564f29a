#include "trace_author.h"

#include "json_find.h"
#include "proc_reader.h"
#include <string.h>
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
    bool same_ns = probe_json_find_u64(block, "pid_ns", &pid_ns) && pid_ns == here.pid_ns;
    if (!same_boot || !same_ns || !probe_json_find_u64(block, "pid", pid) ||
        !probe_json_find_u64(block, "pid_start", &started) || *pid == 0 || *pid > INT32_MAX) {
        return PROCESS_NOT_KNOWN;
    }
    if (started != 0 && probe_proc_ended(proc_root, (pid_t)*pid, started)) {
        return PROCESS_GONE;
    }
    probe_proc_stat stat;
    bool seen =
        probe_proc_read_stat(probe_proc_by_number(proc_root), (pid_t)*pid, &stat) == PROBE_OK;
    return seen && stat.start_ticks == started ? PROCESS_RUNS : PROCESS_NOT_KNOWN;
}

/* Of a process whose start time was looked at. */
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
