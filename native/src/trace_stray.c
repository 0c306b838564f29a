#include "trace_stray.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES_MAX = 4096 };

/* FNV-1a. The host's name is in it for the sake of machines that were cloned while they ran: they
 * share the boot's id, and may share a file system. */
static uint32_t hash_of_boot(const probe_host *host) {
    const char *const parts[] = {host->boot_id, host->hostname};
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        for (const char *c = parts[i]; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * 16777619U;
        }
    }
    return hash;
}

void probe_trace_stray_sign(const probe_host *host, char writer[PROBE_TRACE_WRITER_SIZE]) {
    const probe_cgroup_maker self = {getpid(), host->pid_start, host->pid_ns};
    char name[PROBE_CGROUP_NAME_SIZE];
    writer[0] = '\0';
    if (host->pid_start == 0 || host->pid_ns == 0 || host->boot_id[0] == '\0') {
        return;
    }
    probe_cgroup_maker_name(&self, name);
    (void)snprintf(writer, PROBE_TRACE_WRITER_SIZE, "%s.%08x", name, hash_of_boot(host));
}

/* "gpu-probe.PID.START.NAMESPACE.BOOT", taken apart. */
static bool parse(const char *writer, probe_cgroup_maker *maker, const char **boot) {
    char name[PROBE_CGROUP_NAME_SIZE];
    const char *dot = strrchr(writer, '.');
    if (dot == NULL || (size_t)(dot - writer) >= sizeof name) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(dot - writer), writer);
    *boot = dot + 1;
    return probe_cgroup_maker_parse(name, maker);
}

/* The writer in ".NAME.WRITER.RANDOM.tmp"; NAME may be anything. */
static bool find_writer(const char *entry, char *writer, size_t size) {
    static const char ending[] = ".tmp", mark[] = ".gpu-probe.";
    size_t length = strlen(entry);
    const char *from = NULL;
    if (entry[0] != '.' || length < sizeof ending ||
        strcmp(entry + length - (sizeof ending - 1), ending) != 0) {
        return false;
    }
    for (const char *at = entry; (at = strstr(at, mark)) != NULL; at++) {
        from = at + 1;
    }
    const char *to = entry + length - (sizeof ending - 1);
    do {
        to--;
    } while (to > entry && *to != '.');
    if (from == NULL || to <= from || (size_t)(to - from) >= size) {
        return false;
    }
    (void)snprintf(writer, size, "%.*s", (int)(to - from), from);
    return true;
}

static bool is_stray(const char *entry, const char *own, const char *proc_root) {
    char writer[PROBE_TRACE_WRITER_SIZE];
    probe_cgroup_maker maker, self;
    const char *boot, *own_boot;
    return find_writer(entry, writer, sizeof writer) && parse(writer, &maker, &boot) &&
           parse(own, &self, &own_boot) && strcmp(boot, own_boot) == 0 &&
           probe_cgroup_maker_ended(&maker, proc_root, &self);
}

void probe_trace_stray_remove(int directory, const char *writer, const char *proc_root) {
    int fd = writer[0] == '\0' || directory < 0
                 ? -1
                 : openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return;
    }
    const struct dirent *entry;
    for (int i = 0; i < ENTRIES_MAX && (entry = readdir(entries)) != NULL; i++) {
        if (is_stray(entry->d_name, writer, proc_root)) {
            (void)unlinkat(directory, entry->d_name, 0);
        }
    }
    (void)closedir(entries);
}
