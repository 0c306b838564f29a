/* Finding the directories of a process's control group. */
#include "cgroup_hierarchy.h"
#include "cgroup_limits.h"
#include "cgroup_reader.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY, CPU, CPUACCT, UNIFIED };

/* The file tells all groups at once; this is more than it ever takes. */
enum { GROUPS_SIZE = 16 * 1024 };

/* Lines are "ID:CONTROLLERS:PATH", without controllers for v2. The path may hold colons and is not
 * escaped. The groups stay in text. */
static probe_status read_groups(probe_hierarchy *all, const char *path, char text[GROUPS_SIZE]) {
    probe_status status = probe_file_read(AT_FDCWD, path, text, GROUPS_SIZE, NULL);
    if (status != PROBE_OK) {
        errno = status == PROBE_E_OVERFLOW ? EOVERFLOW : errno;
        return status;
    }
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        (void)strsep(&line, ":");
        const char *controllers = strsep(&line, ":");
        if (controllers == NULL || line == NULL || strlen(line) >= PATH_MAX) {
            continue;
        }
        for (int i = 0; i < PROBE_HIERARCHIES; i++) {
            const char *wanted = all[i].controller;
            if (wanted == NULL ? controllers[0] == '\0'
                               : probe_cgroup_list_has(controllers, wanted)) {
                all[i].group = line;
            }
        }
    }
    return PROBE_OK;
}

bool probe_cgroup_has_file(const char *directory, const char *name) {
    char path[PATH_MAX];
    return directory[0] != '\0' &&
           probe_path_join(path, sizeof path, directory, name) == PROBE_OK &&
           access(path, R_OK) == 0;
}

/* The root group counts the whole host: its CPU time, I/O, PSI and v1 memory belong to strangers,
 * so they are not ours to report, and its memory.stat can take seconds to read. Paths do not tell a
 * root from the root of a container's namespace, which is a group like any other; these files do,
 * since the kernel makes release_agent for v1 roots only and cgroup.events for all v2 groups but
 * the root.
 */
static void forget_roots(probe_cgroup_paths *paths) {
    if (probe_cgroup_has_file(paths->memory, "release_agent")) {
        paths->memory[0] = '\0';
    }
    if (probe_cgroup_has_file(paths->cpuacct, "release_agent")) {
        paths->cpuacct[0] = '\0';
    }
    if (!probe_cgroup_has_file(paths->unified, "cgroup.events")) {
        paths->unified[0] = '\0';
    }
}

void probe_cgroup_classify(probe_cgroup_paths *paths) {
    forget_roots(paths);
    if (probe_cgroup_has_file(paths->memory, "memory.usage_in_bytes")) {
        paths->version = 1;
    } else if (probe_cgroup_has_file(paths->unified, "memory.current")) {
        paths->version = 2;
        strcpy(paths->memory, paths->unified);
        strcpy(paths->memory_mount, paths->unified_mount);
    }
    if (paths->cpu[0] == '\0') {
        strcpy(paths->cpu, paths->unified);
        strcpy(paths->cpu_mount, paths->unified_mount);
    }
    if (paths->cpuacct[0] == '\0') {
        strcpy(paths->cpuacct, paths->unified); /* cpu.stat has the times without any controller */
    }
    if (paths->cpu[0] != '\0') {
        probe_cgroup_tightest_cpu(paths->cpu, paths->cpu_mount);
    }
}

/* Empty strings: the buffers are large, and to clear them whole costs as much as reading a file. */
static void forget(probe_cgroup_paths *paths) {
    paths->version = 0;
    paths->memory[0] = paths->cpu[0] = paths->cpuacct[0] = paths->unified[0] = '\0';
    paths->memory_mount[0] = paths->cpu_mount[0] = paths->unified_mount[0] = '\0';
    paths->exact_memory = paths->exact_cpuacct = paths->exact_unified = false;
}

static void want(probe_hierarchy *wanted, const char *controller, char *directory, char *mount) {
    wanted->controller = controller;
    wanted->directory = directory;
    wanted->mount = mount;
    wanted->exact = false;
    wanted->group = "";
    directory[0] = mount[0] = '\0';
}

static unsigned int number_of(const char *pid) {
    return strcmp(pid, "self") == 0 ? (unsigned int)getpid() : (unsigned int)strtoul(pid, NULL, 10);
}

static probe_status locate(probe_cgroup_paths *paths, const char *proc_root, const char *fs_root,
                           const char *pid, bool custom, probe_error *error) {
    char cpuacct_mount[PATH_MAX];
    char path[PATH_MAX];
    char text[GROUPS_SIZE];
    probe_hierarchy all[PROBE_HIERARCHIES];
    forget(paths);
    want(&all[MEMORY], "memory", paths->memory, paths->memory_mount);
    want(&all[CPU], "cpu", paths->cpu, paths->cpu_mount);
    want(&all[CPUACCT], "cpuacct", paths->cpuacct, cpuacct_mount);
    want(&all[UNIFIED], NULL, paths->unified, paths->unified_mount);
    int n = snprintf(path, sizeof path, "%s/%s/mountinfo", proc_root, pid);
    if (n < 0 || (size_t)n >= sizeof path) {
        return probe_fail(error, PROBE_E_OVERFLOW, 0, "path of the process");
    }
    (void)snprintf(path, sizeof path, "%s/%s/cgroup", proc_root, pid);
    if (read_groups(all, path, text) != PROBE_OK) {
        return probe_fail_detail(error, PROBE_E_ABSENT, errno, "groups of the process", path);
    }
    if (!custom || !probe_cgroup_from_custom(all, fs_root, number_of(pid))) {
        (void)snprintf(path, sizeof path, "%s/%s/mountinfo", proc_root, pid);
        if (probe_cgroup_from_mounts(all, fs_root, path) != PROBE_OK) {
            return probe_fail_detail(error, PROBE_E_ABSENT, errno, "mounts of the process", path);
        }
    }
    paths->exact_memory = all[MEMORY].exact;
    paths->exact_cpuacct = all[CPUACCT].exact;
    paths->exact_unified = all[UNIFIED].exact;
    return PROBE_OK;
}

probe_status probe_cgroup_locate(probe_cgroup_paths *paths, const char *proc_root,
                                 const char *fs_root, const char *pid, probe_error *error) {
    return locate(paths, proc_root, fs_root, pid, false, error);
}

probe_status probe_cgroup_find(probe_cgroup_paths *paths, const char *proc_root,
                               const char *fs_root, const char *pid, probe_error *error) {
    probe_status status = locate(paths, proc_root, fs_root, pid, true, error);
    if (status != PROBE_OK) {
        return status;
    }
    probe_cgroup_classify(paths);
    if (paths->version == 0) {
        forget(paths);
        return probe_fail(error, PROBE_E_ABSENT, 0, "control group with memory figures");
    }
    return PROBE_OK;
}
