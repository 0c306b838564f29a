#include "cgroup_own.h"

#include "cgroup_limits.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const hierarchy_names[PROBE_OWN_COUNT] = {"memory", "cpuacct", "v2"};

__attribute__((format(printf, 2, 3))) static void add_note(probe_cgroup_own *own,
                                                           const char *format, ...) {
    for (size_t i = 0; i < PROBE_OWN_NOTES; i++) {
        if (own->notes[i][0] == '\0') {
            va_list arguments;
            va_start(arguments, format);
            (void)vsnprintf(own->notes[i], sizeof own->notes[i], format, arguments);
            va_end(arguments);
            return;
        }
    }
}

static void refuse(probe_cgroup_own *own, const char *why) {
    add_note(own, "cgroup: the task has no group of its own, as with --cgroup auto: %s", why);
}

static bool contains_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length) {
        bool begins = at == text || at[-1] == ' ';
        if (begins && strchr(" \n", at[length]) != NULL) {
            return true; /* the terminating NUL counts as one of them */
        }
    }
    return false;
}

/* Returns errno. */
static int control_subtree(const char *parent, const char *change) {
    char path[PATH_MAX];
    if (probe_path_join(path, sizeof path, parent, "cgroup.subtree_control") != PROBE_OK) {
        return ENAMETOOLONG;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int code = fd < 0 ? errno : 0;
    if (code == 0 && write(fd, change, strlen(change)) < 0) {
        code = errno;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return code;
}

/* On v2, a group shows memory figures only if its parent hands the controller down, and a parent
 * with processes of its own (the wrapper is one) may not, but for the root. Only memory: with the
 * cpu controller the task would compete as one with its neighbours. NULL, or why not. */
static const char *hand_memory_down(const char *parent, char handed_down[PATH_MAX]) {
    char text[512];
    if (!probe_cgroup_text(parent, "cgroup.controllers", text, sizeof text) ||
        !contains_word(text, "memory")) {
        return "the memory controller is not available in the wrapper's group";
    }
    if (probe_cgroup_text(parent, "cgroup.subtree_control", text, sizeof text) &&
        contains_word(text, "memory")) {
        return NULL;
    }
    int code = control_subtree(parent, "+memory");
    if (code == 0) {
        strcpy(handed_down, parent);
    }
    return code == 0       ? NULL
           : code == EBUSY ? "the wrapper's group has processes, so it cannot hand the memory "
                             "controller down"
                           : strerror(code);
}

/* In v1 groups without use_hierarchy, a group's limit does not hold for the groups below it. */
static bool would_escape_a_limit(const char *parent) {
    char flag[16];
    char agent[PATH_MAX];
    return probe_cgroup_text(parent, "memory.use_hierarchy", flag, sizeof flag) && flag[0] == '0' &&
           !probe_cgroup_text(parent, "release_agent", agent,
                              sizeof agent); /* the root has no limit */
}

/* Makes the group in parent and opens the list that the command will enter. Returns errno. */
static int make(probe_cgroup_own *own, probe_own_hierarchy which, const char *parent) {
    char path[PATH_MAX];
    char group[PATH_MAX];
    if (probe_path_join(path, sizeof path, parent, "cgroup.procs") != PROBE_OK ||
        probe_path_join(group, sizeof group, parent, own->name) != PROBE_OK) {
        return ENAMETOOLONG;
    }
    if (access(path, W_OK) != 0) { /* leftovers could not be moved back */
        return errno;
    }
    if (mkdir(group, 0755) != 0) {
        return errno;
    }
    int fd = probe_path_join(path, sizeof path, group, "cgroup.procs") == PROBE_OK
                 ? open(path, O_WRONLY | O_CLOEXEC)
                 : -1;
    if (fd < 0) {
        int code = errno;
        (void)rmdir(group);
        return code;
    }
    strcpy(own->parent[which], parent);
    own->procs[which] = fd;
    return 0;
}

/* The group's directory takes the place of the wrapper's; empty where there is none. */
static void replace(const probe_cgroup_own *own, probe_own_hierarchy which, char *directory) {
    if (own->parent[which][0] == '\0' ||
        probe_path_join(directory, PATH_MAX, own->parent[which], own->name) != PROBE_OK) {
        directory[0] = '\0';
    }
}

/* A further hierarchy beside memory's. Without it its figures are unknown: the wrapper's group
 * would count others. */
static void make_beside(probe_cgroup_own *own, probe_own_hierarchy which, char *directory,
                        bool exact) {
    if (directory[0] == '\0') {
        return;
    }
    if (strcmp(directory, own->parent[PROBE_OWN_MEMORY]) == 0) { /* mounted together */
        replace(own, PROBE_OWN_MEMORY, directory);
        return;
    }
    int code = exact ? make(own, which, directory) : ENOENT;
    if (code != 0) {
        add_note(own, "cgroup: no group of the task's own in the %s hierarchy: %s",
                 hierarchy_names[which], strerror(code));
    }
    replace(own, which, directory);
}

/* Where the memory controller is, as a writable group that is the wrapper's. NULL, or why not. */
static const char *choose_parent(const probe_cgroup_paths *paths, const char **parent,
                                 char handed_down[PATH_MAX]) {
    char text[64];
    bool v1 = paths->memory[0] != '\0' &&
              probe_cgroup_text(paths->memory, "memory.usage_in_bytes", text, sizeof text);
    *parent = v1 ? paths->memory : paths->unified;
    if (**parent == '\0' || !(v1 ? paths->exact_memory : paths->exact_unified)) {
        return "the wrapper's group is not visible here";
    }
    if (v1) {
        return would_escape_a_limit(*parent) ? "the wrapper's group does not hand its limit down"
                                             : NULL;
    }
    return hand_memory_down(*parent, handed_down);
}

void probe_cgroup_own_open(probe_cgroup_own *own, const char *proc_root, const char *fs_root) {
    probe_cgroup_maker self;
    const char *parent = NULL;
    memset(own, 0, sizeof *own);
    for (int i = 0; i < PROBE_OWN_COUNT; i++) {
        own->procs[i] = -1;
    }
    if (!probe_cgroup_maker_self(proc_root, &self) ||
        probe_cgroup_locate(&own->paths, proc_root, fs_root, "self", NULL) != PROBE_OK) {
        refuse(own, "/proc does not tell the wrapper's group");
        return;
    }
    probe_cgroup_maker_name(&self, own->name);
    const char *why = choose_parent(&own->paths, &parent, own->handed_down);
    if (why == NULL) {
        probe_cgroup_remove_stale(parent, proc_root, &self);
        int code = make(own, PROBE_OWN_MEMORY, parent);
        why = code != 0 ? strerror(code) : NULL;
    }
    if (why != NULL) {
        refuse(own, why);
        return;
    }
    own->active = true;
    bool v1 = parent == own->paths.memory;
    if (v1) {
        probe_cgroup_remove_stale(own->paths.cpuacct, proc_root, &self);
        make_beside(own, PROBE_OWN_CPUACCT, own->paths.cpuacct, own->paths.exact_cpuacct);
        probe_cgroup_remove_stale(own->paths.unified, proc_root, &self);
        make_beside(own, PROBE_OWN_UNIFIED, own->paths.unified, own->paths.exact_unified);
        replace(own, PROBE_OWN_MEMORY, own->paths.memory);
    } else {
        replace(own, PROBE_OWN_MEMORY, own->paths.unified);
    }
    probe_cgroup_classify(&own->paths);
    if (own->paths.version == 0) {
        refuse(own, "it has no memory figures");
        probe_cgroup_own_close(own);
    }
}

bool probe_cgroup_own_entered(probe_cgroup_own *own, const int errors[PROBE_OWN_COUNT]) {
    bool inside = own->active;
    for (int i = 0; i < PROBE_OWN_COUNT; i++) {
        if (own->procs[i] < 0) {
            continue;
        }
        (void)close(own->procs[i]);
        own->procs[i] = -1;
        if (errors[i] != 0) {
            add_note(own, "cgroup: the task could not enter its own group in the %s hierarchy: %s",
                     hierarchy_names[i], strerror(errors[i]));
            inside = false;
        }
    }
    return inside;
}

void probe_cgroup_own_close(probe_cgroup_own *own) {
    for (int i = 0; i < PROBE_OWN_COUNT; i++) {
        if (own->procs[i] >= 0) {
            (void)close(own->procs[i]);
            own->procs[i] = -1;
        }
        if (own->parent[i][0] == '\0') {
            continue;
        }
        int code = probe_cgroup_remove(own->parent[i], own->name);
        if (code != 0) {
            add_note(own, "cgroup: %s/%.80s could not be removed: %s; the next gpu-probe tries",
                     hierarchy_names[i], own->name, strerror(code));
        }
        own->parent[i][0] = '\0';
    }
    own->active = false;
}

static bool has_groups(const char *parent) {
    bool any = false;
    DIR *entries = opendir(parent);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        struct stat at;
        any = any || (entry->d_name[0] != '.' &&
                      fstatat(dirfd(entries), entry->d_name, &at, AT_SYMLINK_NOFOLLOW) == 0 &&
                      S_ISDIR(at.st_mode));
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return any;
}

void probe_cgroup_own_forget(probe_cgroup_own *own) {
    probe_cgroup_own_close(own);
    if (own->handed_down[0] != '\0' && !has_groups(own->handed_down)) {
        (void)control_subtree(own->handed_down, "-memory");
    }
    own->handed_down[0] = '\0';
}
