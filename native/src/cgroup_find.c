/* Finding the directories of a process's control group. */
#include "cgroup_limits.h"
#include "cgroup_reader.h"
#include "file.h"
#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *controller; /* of a v1 hierarchy; NULL = the v2 hierarchy */
    char *directory;        /* results, of PATH_MAX bytes each */
    char *mount;
    bool exact;           /* directory is the group's own, not merely the mount point */
    char group[PATH_MAX]; /* the group's path within its hierarchy; empty = not a member */
} hierarchy;

enum { MEMORY, CPU, CPUACCT, UNIFIED, HIERARCHIES };

static bool list_contains(const char *list, const char *word) {
    size_t length = strlen(word);
    while (list != NULL) {
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0')) {
            return true;
        }
        list = strchr(list, ',');
        list = list == NULL ? NULL : list + 1;
    }
    return false;
}

/* Lines are "ID:CONTROLLERS:PATH", without controllers for v2. The path may hold colons and is not
 * escaped. */
static probe_status read_groups(hierarchy *all, const char *path) {
    probe_lines lines;
    probe_status status = probe_lines_open(&lines, path);
    if (status != PROBE_OK) {
        return status;
    }
    for (char *line; (line = probe_lines_next(&lines)) != NULL;) {
        (void)strsep(&line, ":");
        const char *controllers = strsep(&line, ":");
        if (controllers == NULL || line == NULL || strlen(line) >= PATH_MAX) {
            continue;
        }
        for (int i = 0; i < HIERARCHIES; i++) {
            const char *wanted = all[i].controller;
            if (wanted == NULL ? controllers[0] == '\0' : list_contains(controllers, wanted)) {
                strcpy(all[i].group, line);
            }
        }
    }
    probe_lines_close(&lines);
    return PROBE_OK;
}

static bool is_octal(char c) {
    return c >= '0' && c <= '7';
}

/* Blanks and backslashes are written as \040, \134 in mountinfo. */
static void unescape(char *text) {
    char *out = text;
    for (const char *in = text; *in != '\0'; out++) {
        if (in[0] == '\\' && is_octal(in[1]) && is_octal(in[2]) && is_octal(in[3])) {
            *out = (char)(unsigned char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

/* What remains of group below root: "" for root itself, NULL when group lies elsewhere. Both are
 * relative to the cgroup namespace, and either may begin with "/.." when it lies outside of it; a
 * remainder that climbs would leave the mount. */
static const char *below(const char *root, const char *group) {
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(group, root, length) != 0 || (group[length] != '/' && group[length] != '\0')) {
        return NULL;
    }
    const char *rest = group + length;
    for (const char *up = rest; (up = strstr(up, "/..")) != NULL; up += 3) {
        if (up[3] == '/' || up[3] == '\0') {
            return NULL;
        }
    }
    return strcmp(rest, "/") == 0 ? "" : rest;
}

/* Takes this mount for the hierarchy if none is known, if it is the first that shows the group's
 * own directory, or if it hides an earlier mount at the same place. */
static void consider_mount(hierarchy *wanted, const char *fs_root, const char *root,
                           const char *point) {
    char mount[PATH_MAX];
    char directory[PATH_MAX];
    int n = snprintf(mount, sizeof mount, "%s%s", fs_root, point);
    if (n < 0 || (size_t)n >= sizeof mount || access(mount, F_OK) != 0) {
        return;
    }
    const char *rest = below(root, wanted->group);
    bool exact = false;
    if (rest != NULL) {
        n = snprintf(directory, sizeof directory, "%s%s", mount, rest);
        exact = n >= 0 && (size_t)n < sizeof directory && access(directory, F_OK) == 0;
    }
    bool better = wanted->mount[0] == '\0' || (exact && !wanted->exact);
    if (better || strcmp(wanted->mount, mount) == 0) {
        strcpy(wanted->mount, mount);
        strcpy(wanted->directory, exact ? directory : mount);
        wanted->exact = exact;
    }
}

/* Lines are "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS] - TYPE SOURCE SUPER_OPTIONS"; the
 * super options name the controllers of a v1 hierarchy. */
static void consider_line(hierarchy *all, const char *fs_root, char *line) {
    char *tail = strstr(line, " - ");
    if (tail == NULL) {
        return;
    }
    *tail = '\0';
    tail += 3;
    for (int skipped = 0; skipped < 3; skipped++) {
        (void)strsep(&line, " ");
    }
    char *root = strsep(&line, " ");
    char *point = strsep(&line, " ");
    const char *type = strsep(&tail, " ");
    (void)strsep(&tail, " ");
    bool unified = strcmp(type, "cgroup2") == 0;
    if (point == NULL || (!unified && (strcmp(type, "cgroup") != 0 || tail == NULL))) {
        return;
    }
    unescape(root);
    unescape(point);
    for (int i = 0; i < HIERARCHIES; i++) {
        const char *wanted = all[i].controller;
        bool matches = wanted == NULL ? unified : !unified && list_contains(tail, wanted);
        if (matches && all[i].group[0] != '\0') {
            consider_mount(&all[i], fs_root, root, point);
        }
    }
}

static probe_status read_mounts(hierarchy *all, const char *fs_root, const char *path) {
    probe_lines lines;
    probe_status status = probe_lines_open(&lines, path);
    if (status != PROBE_OK) {
        return status;
    }
    for (char *line; (line = probe_lines_next(&lines)) != NULL;) {
        consider_line(all, fs_root, line);
    }
    probe_lines_close(&lines);
    return PROBE_OK;
}

static bool has_file(const char *directory, const char *name) {
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
    if (has_file(paths->memory, "release_agent")) {
        paths->memory[0] = '\0';
    }
    if (has_file(paths->cpuacct, "release_agent")) {
        paths->cpuacct[0] = '\0';
    }
    if (!has_file(paths->unified, "cgroup.events")) {
        paths->unified[0] = '\0';
    }
}

void probe_cgroup_classify(probe_cgroup_paths *paths) {
    forget_roots(paths);
    if (has_file(paths->memory, "memory.usage_in_bytes")) {
        paths->version = 1;
    } else if (has_file(paths->unified, "memory.current")) {
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

static void want(hierarchy *wanted, const char *controller, char *directory, char *mount) {
    wanted->controller = controller;
    wanted->directory = directory;
    wanted->mount = mount;
    wanted->exact = false;
    wanted->group[0] = directory[0] = mount[0] = '\0';
}

probe_status probe_cgroup_locate(probe_cgroup_paths *paths, const char *proc_root,
                                 const char *fs_root, const char *pid, probe_error *error) {
    char cpuacct_mount[PATH_MAX];
    char groups[PATH_MAX];
    char mounts[PATH_MAX];
    hierarchy all[HIERARCHIES];
    forget(paths);
    want(&all[MEMORY], "memory", paths->memory, paths->memory_mount);
    want(&all[CPU], "cpu", paths->cpu, paths->cpu_mount);
    want(&all[CPUACCT], "cpuacct", paths->cpuacct, cpuacct_mount);
    want(&all[UNIFIED], NULL, paths->unified, paths->unified_mount);
    int n = snprintf(groups, sizeof groups, "%s/%s/cgroup", proc_root, pid);
    int m = snprintf(mounts, sizeof mounts, "%s/%s/mountinfo", proc_root, pid);
    if (n < 0 || (size_t)n >= sizeof groups || m < 0 || (size_t)m >= sizeof mounts) {
        return probe_fail(error, PROBE_E_OVERFLOW, 0, "path of the process");
    }
    if (read_groups(all, groups) != PROBE_OK) {
        return probe_fail_detail(error, PROBE_E_ABSENT, errno, "groups of the process", groups);
    }
    if (read_mounts(all, fs_root, mounts) != PROBE_OK) {
        return probe_fail_detail(error, PROBE_E_ABSENT, errno, "mounts of the process", mounts);
    }
    paths->exact_memory = all[MEMORY].exact;
    paths->exact_cpuacct = all[CPUACCT].exact;
    paths->exact_unified = all[UNIFIED].exact;
    return PROBE_OK;
}

probe_status probe_cgroup_find(probe_cgroup_paths *paths, const char *proc_root,
                               const char *fs_root, const char *pid, probe_error *error) {
    probe_status status = probe_cgroup_locate(paths, proc_root, fs_root, pid, error);
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
