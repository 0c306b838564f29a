#include "proc_tree.h"

#include "file.h"
#include "proc_reader.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void append(probe_tree *tree, pid_t pid) {
    if (tree->count == PROBE_TREE_MAX) {
        tree->truncated = true;
        return;
    }
    tree->pid[tree->count++] = pid;
}

typedef struct {
    const pid_t *pid;
    size_t count;
} excluded_list;

static bool is_excluded(const excluded_list *excluded, pid_t pid) {
    for (size_t i = 0; i < excluded->count; i++) {
        if (excluded->pid[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Appends the pids in one children file. One read returns at most a page, so the file is read to
 * its end; a pid that a read cut in two is put together again. False: no such file. */
static bool append_children(probe_tree *tree, const char *path, const excluded_list *excluded) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char buf[4096];
    pid_t pid = 0;
    ssize_t n;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (buf[i] >= '0' && buf[i] <= '9') {
                pid = pid * 10 + (buf[i] - '0');
            } else if (pid != 0) {
                if (!is_excluded(excluded, pid)) {
                    append(tree, pid);
                }
                pid = 0;
            }
        }
    }
    (void)close(fd);
    return true;
}

/* Children belong to the thread that forked them. False: this kernel has no children files. */
static bool append_children_of(probe_tree *tree, const char *proc_root, pid_t pid,
                               const excluded_list *excluded) {
    char path[320];
    (void)snprintf(path, sizeof path, "%s/%d/task", proc_root, (int)pid);
    DIR *threads = opendir(path);
    if (threads == NULL) {
        return true; /* gone meanwhile */
    }
    bool supported = true;
    struct dirent *entry;
    while (supported && (entry = readdir(threads)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%d/task/%.20s/children", proc_root, (int)pid,
                       entry->d_name);
        supported = append_children(tree, path, excluded) || errno != ENOENT ||
                    access(proc_root, X_OK) != 0;
        if (!supported) {
            /* ENOENT also means that the thread ended meanwhile: only a thread that is still there
             * proves the kernel's lack. */
            (void)snprintf(path, sizeof path, "%s/%d/task/%.20s/stat", proc_root, (int)pid,
                           entry->d_name);
            supported = access(path, R_OK) != 0;
        }
    }
    (void)closedir(threads);
    return supported;
}

static bool holds(const probe_tree *tree, pid_t root, pid_t pid) {
    if (pid == root) {
        return true;
    }
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->pid[i] == pid) {
            return true;
        }
    }
    return false;
}

/* One pass over all processes for each generation of the tree. */
static void scan(probe_tree *tree, const char *proc_root, pid_t root,
                 const excluded_list *excluded) {
    size_t before;
    tree->count = 0;
    do {
        before = tree->count;
        DIR *processes = opendir(proc_root);
        if (processes == NULL) {
            return;
        }
        struct dirent *entry;
        while ((entry = readdir(processes)) != NULL) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
            probe_proc_stat stat;
            if (pid <= 0 || is_excluded(excluded, pid) || holds(tree, root, pid) ||
                probe_proc_read_stat(proc_root, pid, &stat) != PROBE_OK) {
                continue;
            }
            if (holds(tree, root, stat.ppid)) {
                append(tree, pid);
            }
        }
        (void)closedir(processes);
    } while (tree->count != before && !tree->truncated);
}

void probe_tree_walk(probe_tree *tree, const char *proc_root, pid_t root,
                     const pid_t *excluded_pids, size_t excluded_count) {
    const excluded_list list = {excluded_pids, excluded_count}, *excluded = &list;
    tree->count = 0;
    tree->truncated = false;
    bool supported = append_children_of(tree, proc_root, root, excluded);
    for (size_t i = 0; supported && i < tree->count; i++) {
        supported = append_children_of(tree, proc_root, tree->pid[i], excluded);
    }
    if (!supported) {
        scan(tree, proc_root, root, excluded);
    }
}

void probe_tree_add_memory(probe_tree_memory *memory, const char *proc_root, pid_t pid) {
    probe_proc_memory one;
    if (probe_proc_read_memory(proc_root, pid, &one) != PROBE_OK) {
        return;
    }
    memory->processes++;
    memory->vm_size_kib += one.vm_size_kib;
    memory->vm_rss_kib += one.vm_rss_kib;
    if (one.vm_peak_kib > memory->largest_vm_peak_kib) {
        memory->largest_vm_peak_kib = one.vm_peak_kib;
    }
    if (one.vm_hwm_kib > memory->largest_vm_hwm_kib) {
        memory->largest_vm_hwm_kib = one.vm_hwm_kib;
    }
}

void probe_tree_read_memory(const probe_tree *tree, const char *proc_root,
                            probe_tree_memory *memory) {
    *memory = (probe_tree_memory){0};
    for (size_t i = 0; i < tree->count; i++) {
        probe_tree_add_memory(memory, proc_root, tree->pid[i]);
    }
}
