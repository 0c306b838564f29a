#include "cgroup_hierarchy.h"
#include "lines.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool probe_cgroup_list_has(const char *list, const char *word) {
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
static void consider_mount(probe_hierarchy *wanted, const char *fs_root, const char *root,
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
static void consider_line(probe_hierarchy *all, const char *fs_root, char *line) {
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
    for (int i = 0; i < PROBE_HIERARCHIES; i++) {
        const char *wanted = all[i].controller;
        bool matches = wanted == NULL ? unified : !unified && probe_cgroup_list_has(tail, wanted);
        if (matches && all[i].group[0] != '\0') {
            consider_mount(&all[i], fs_root, root, point);
        }
    }
}

probe_status probe_cgroup_from_mounts(probe_hierarchy all[PROBE_HIERARCHIES], const char *fs_root,
                                      const char *path) {
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
