#include "proc_tree.h"

#include "numbers.h"
#include "proc_reader.h"
#include <fcntl.h>
#include <unistd.h>

/* A children file comes page by page, and each read stops before a number that would not fit: less
 * than this is the last one. */
enum { LAST_READ_BELOW = 4000 };

typedef struct {
    probe_tree *tree;
    const pid_t *excluded;
    size_t excluded_count;
} growth;

static void append(probe_tree *tree, pid_t pid) {
    if (tree->count == PROBE_TREE_MAX) {
        tree->truncated = true;
        return;
    }
    tree->pid[tree->count++] = pid;
}

static bool is_excluded(const growth *g, pid_t pid) {
    for (size_t i = 0; i < g->excluded_count; i++) {
        if (g->excluded[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Appends the pids in one children file. A pid that a read cut in two is put together again. */
static void append_children(void *context, int fd) {
    const growth *g = context;
    char buf[4096];
    pid_t pid = 0;
    off_t at = 0;
    ssize_t n;
    do {
        n = pread(fd, buf, sizeof buf, at);
        for (ssize_t i = 0; i < n; i++) {
            if (buf[i] >= '0' && buf[i] <= '9') {
                pid = pid * 10 + (buf[i] - '0');
            } else if (pid != 0) {
                if (!is_excluded(g, pid)) {
                    append(g->tree, pid);
                }
                pid = 0;
            }
        }
        at += n;
    } while (n >= LAST_READ_BELOW);
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
static void scan(const growth *g, const char *proc_root, pid_t root) {
    probe_tree *tree = g->tree;
    int processes = open(proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (processes < 0) {
        return;
    }
    size_t before;
    tree->count = 0;
    do {
        before = tree->count;
        probe_numbers names;
        pid_t pid;
        probe_numbers_begin(&names, processes);
        while (probe_numbers_next(&names, &pid)) {
            probe_proc_stat stat;
            if (is_excluded(g, pid) || holds(tree, root, pid) ||
                probe_proc_read_stat(proc_root, pid, &stat) != PROBE_OK) {
                continue;
            }
            if (holds(tree, root, stat.ppid)) {
                append(tree, pid);
            }
        }
    } while (tree->count != before && !tree->truncated);
    (void)close(processes);
}

void probe_tree_walk(probe_tree *tree, probe_process_set *set, pid_t root, const pid_t *excluded,
                     size_t excluded_count) {
    growth g = {.tree = tree, .excluded = excluded, .excluded_count = excluded_count};
    tree->count = 0;
    tree->truncated = false;
    probe_process_set_begin(set);
    probe_process_set_visit(set, root, append_children, &g);
    for (size_t i = 0; i < tree->count && !set->no_children; i++) {
        probe_process_set_visit(set, tree->pid[i], append_children, &g);
    }
    if (set->no_children) {
        scan(&g, set->proc_root, root);
        for (size_t i = 0; i < tree->count; i++) {
            probe_process_set_visit(set, tree->pid[i], append_children, &g);
        }
    }
    probe_process_set_end(set);
}

void probe_tree_add_memory(probe_tree_memory *memory, const probe_proc_memory *one) {
    memory->processes++;
    memory->vm_size_kib += one->vm_size_kib;
    memory->vm_rss_kib += one->vm_rss_kib;
    memory->sum_vm_hwm_kib += one->vm_hwm_kib;
    if (one->vm_peak_kib > memory->largest_vm_peak_kib) {
        memory->largest_vm_peak_kib = one->vm_peak_kib;
    }
    if (one->vm_hwm_kib > memory->largest_vm_hwm_kib) {
        memory->largest_vm_hwm_kib = one->vm_hwm_kib;
    }
}

void probe_tree_read_memory(const probe_tree *tree, probe_process_set *set, bool thorough,
                            probe_tree_memory *memory) {
    *memory = (probe_tree_memory){0};
    for (size_t i = 0; i < tree->count; i++) {
        probe_proc_memory one;
        if (probe_process_set_read_memory(set, tree->pid[i], thorough, &one) == PROBE_OK) {
            probe_tree_add_memory(memory, &one);
        }
    }
}
