#include "process_set.h"

#include "file.h"
#include "numbers.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONE = -1, STATUS_EVERY = 5 };

void probe_process_set_open(probe_process_set *set, const char *proc_root, int max_descriptors) {
    set->proc_root = proc_root;
    set->descriptors = 0;
    set->max_descriptors = max_descriptors;
    long page = sysconf(_SC_PAGESIZE);
    set->page_kib = page > 0 ? (uint64_t)page / 1024 : 4;
    set->walk = 0;
    set->no_children = false;
    set->hint = 0;
    for (size_t i = 0; i < PROBE_KEPT_PROCESSES; i++) {
        set->process[i].pid = 0;
    }
    for (size_t i = 0; i < PROBE_KEPT_THREADS; i++) {
        set->thread[i].tid = 0;
    }
}

static int open_file(int directory, const char *name, int flags) {
    return openat(directory, name, O_RDONLY | O_CLOEXEC | flags);
}

static int open_kept(probe_process_set *set, int directory, const char *name) {
    if (set->descriptors >= set->max_descriptors) {
        return NONE;
    }
    int fd = open_file(directory, name, 0);
    set->descriptors += fd >= 0;
    return fd;
}

static void close_kept(probe_process_set *set, int *fd) {
    if (*fd >= 0) {
        (void)close(*fd); /* read-only: nothing to lose */
        set->descriptors--;
    }
    *fd = NONE;
}

/* Frees the thread that *link names, and lets *link name the one behind it. */
static void drop_thread(probe_process_set *set, int *link) {
    probe_thread *thread = &set->thread[*link];
    *link = thread->next;
    thread->tid = 0;
    close_kept(set, &thread->children);
}

static void drop(probe_process_set *set, probe_process *process) {
    while (process->first_thread != NONE) {
        drop_thread(set, &process->first_thread);
    }
    close_kept(set, &process->task);
    close_kept(set, &process->children);
    close_kept(set, &process->statm);
    close_kept(set, &process->status);
    process->pid = 0;
}

void probe_process_set_close(probe_process_set *set) {
    for (size_t i = 0; i < PROBE_KEPT_PROCESSES; i++) {
        if (set->process[i].pid != 0) {
            drop(set, &set->process[i]);
        }
    }
}

void probe_process_set_begin(probe_process_set *set) {
    set->walk++;
    set->hint = 0;
}

void probe_process_set_end(probe_process_set *set) {
    for (size_t i = 0; i < PROBE_KEPT_PROCESSES; i++) {
        probe_process *process = &set->process[i];
        if (process->pid != 0 && process->walk != set->walk) {
            drop(set, process);
        }
    }
    set->hint = 0;
}

/* Walks meet processes in the same order again and again: mostly the hint is right. */
static probe_process *find(probe_process_set *set, pid_t pid) {
    for (size_t i = 0; i < PROBE_KEPT_PROCESSES; i++) {
        size_t at = (set->hint + i) % PROBE_KEPT_PROCESSES;
        if (set->process[at].pid == pid) {
            set->hint = at + 1;
            return &set->process[at];
        }
    }
    return NULL;
}

static int open_task_directory(const probe_process_set *set, pid_t pid) {
    char path[320];
    (void)snprintf(path, sizeof path, "%s/%d/task", set->proc_root, (int)pid);
    return open_file(AT_FDCWD, path, O_DIRECTORY);
}

static int open_children(int task, pid_t tid) {
    char name[32];
    (void)snprintf(name, sizeof name, "%d/children", (int)tid);
    return open_file(task, name, 0);
}

/* The number of threads: the directory has two links and one more for each. 0: the process is gone;
 * negative: a file system that does not count like this. */
static long count_threads(int task) {
    struct stat directory;
    return fstat(task, &directory) == 0 ? (long)directory.st_nlink - 2 : 0;
}

/* Takes the directory task over. NULL when there is no room; task is then still the caller's. */
static probe_process *keep(probe_process_set *set, pid_t pid, int task) {
    static const probe_process empty = {
        .children = NONE, .statm = NONE, .status = NONE, .first_thread = NONE};
    if (set->descriptors + 4 > set->max_descriptors) {
        return NULL;
    }
    probe_process *process = find(set, 0);
    if (process != NULL) {
        *process = empty;
        process->pid = pid;
        process->task = task;
        process->walk = set->walk;
        set->descriptors++;
    }
    return process;
}

/* A thread that ended while its files were opened looks like a kernel without children files
 * (CONFIG_PROC_CHILDREN): only one that is still there proves the lack. */
static void note_missing_children(probe_process_set *set, int task, pid_t tid) {
    char name[32];
    (void)snprintf(name, sizeof name, "%d/stat", (int)tid);
    if (errno == ENOENT && faccessat(task, name, R_OK, 0) == 0) {
        set->no_children = true;
    }
}

static void visit_once(probe_process_set *set, int task, pid_t tid, probe_children_visit *visit,
                       void *context) {
    int fd = open_children(task, tid);
    if (fd < 0) {
        note_missing_children(set, task, tid);
        return;
    }
    visit(context, fd);
    (void)close(fd);
}

static int keep_thread(probe_process_set *set, int task, pid_t tid, int next) {
    for (int i = 0; i < PROBE_KEPT_THREADS && set->descriptors < set->max_descriptors; i++) {
        probe_thread *thread = &set->thread[i];
        if (thread->tid == 0) {
            int fd = open_children(task, tid);
            if (fd < 0) {
                note_missing_children(set, task, tid);
                return NONE;
            }
            set->descriptors++;
            *thread = (probe_thread){.tid = tid, .children = fd, .next = next};
            return i;
        }
    }
    return NONE;
}

/* Makes *link name the thread tid: those before it, which the listing no longer has, go. False: it
 * is not among the kept. */
static bool seek_thread(probe_process_set *set, int *link, pid_t tid) {
    int at = *link;
    while (at != NONE && set->thread[at].tid != tid) {
        at = set->thread[at].next;
    }
    if (at == NONE) {
        return false;
    }
    while (*link != at) {
        drop_thread(set, link);
    }
    return true;
}

static void visit_main_thread(probe_process_set *set, probe_process *process,
                              probe_children_visit *visit, void *context) {
    if (process->children < 0) {
        char name[32];
        (void)snprintf(name, sizeof name, "%d/children", (int)process->pid);
        process->children = open_kept(set, process->task, name);
    }
    if (process->children >= 0) {
        visit(context, process->children);
    } else {
        visit_once(set, process->task, process->pid, visit, context);
    }
}

/* Children belong to the thread that forked them. */
static void visit_threads(probe_process_set *set, probe_process *process,
                          probe_children_visit *visit, void *context) {
    probe_numbers threads;
    pid_t tid;
    int *link = &process->first_thread;
    probe_numbers_begin(&threads, process->task);
    while (!set->no_children && probe_numbers_next(&threads, &tid)) {
        if (tid == process->pid) {
            visit_main_thread(set, process, visit, context);
            continue;
        }
        if (!seek_thread(set, link, tid)) {
            int kept = keep_thread(set, process->task, tid, *link);
            if (kept == NONE) {
                visit_once(set, process->task, tid, visit, context);
                continue;
            }
            *link = kept;
        }
        visit(context, set->thread[*link].children);
        link = &set->thread[*link].next;
    }
    while (*link != NONE) {
        drop_thread(set, link);
    }
}

static void visit_unkept(probe_process_set *set, int task, probe_children_visit *visit,
                         void *context) {
    probe_numbers threads;
    pid_t tid;
    probe_numbers_begin(&threads, task);
    while (!set->no_children && probe_numbers_next(&threads, &tid)) {
        visit_once(set, task, tid, visit, context);
    }
}

void probe_process_set_visit(probe_process_set *set, pid_t pid, probe_children_visit *visit,
                             void *context) {
    probe_process *process = find(set, pid);
    long threads = process == NULL ? 0 : count_threads(process->task);
    if (process != NULL && threads == 0) { /* gone; the pid is another process's now */
        drop(set, process);
        process = NULL;
    }
    if (process == NULL) {
        int task = open_task_directory(set, pid);
        if (task < 0) {
            return; /* gone meanwhile */
        }
        process = keep(set, pid, task);
        if (process == NULL) {
            visit_unkept(set, task, visit, context);
            (void)close(task);
            return;
        }
        threads = count_threads(task);
    }
    process->walk = set->walk;
    if (set->no_children) {
        return;
    }
    if (threads == 1 && process->first_thread == NONE) {
        visit_main_thread(set, process, visit, context);
    } else {
        visit_threads(set, process, visit, context);
    }
}

static probe_status read_held(const probe_process_set *set, const probe_process *process,
                              probe_proc_memory *memory) {
    char text[128];
    const char *at = text;
    uint64_t size = 0, resident = 0;
    probe_status status = probe_file_reread(process->statm, text, sizeof text, NULL);
    if (status != PROBE_OK) {
        return status;
    }
    if (!probe_parse_u64(at, &size, &at) || !probe_parse_u64(at, &resident, &at)) {
        return PROBE_E_FORMAT;
    }
    memory->vm_size_kib = size * set->page_kib;
    memory->vm_rss_kib = resident * set->page_kib;
    return size > 0 ? PROBE_OK : PROBE_E_ABSENT;
}

static void raise_to(uint64_t *value, uint64_t other) {
    *value = other > *value ? other : *value;
}

static void read_marks(probe_process *process) {
    char text[4096];
    probe_proc_memory marks;
    if (probe_file_reread(process->status, text, sizeof text, NULL) == PROBE_OK &&
        probe_proc_parse_memory(text, &marks) == PROBE_OK) {
        process->vm_peak_kib = marks.vm_peak_kib; /* after an exec they may be smaller */
        process->vm_hwm_kib = marks.vm_hwm_kib;
    }
}

probe_status probe_process_set_read_memory(probe_process_set *set, pid_t pid, bool thorough,
                                           probe_proc_memory *memory) {
    probe_process *process = find(set, pid);
    if (process != NULL && process->statm < 0) {
        process->statm = open_kept(set, process->task, "../statm");
        process->status = open_kept(set, process->task, "../status");
    }
    if (process == NULL || process->statm < 0 || process->status < 0) {
        return probe_proc_read_memory(set->proc_root, pid, memory);
    }
    probe_status status = read_held(set, process, memory);
    if (status != PROBE_OK) {
        return status;
    }
    /* Not all processes in the same sample. */
    bool due = (process->readings++ + (uint32_t)(process - set->process)) % STATUS_EVERY == 0;
    if (thorough || due || memory->vm_rss_kib > process->vm_hwm_kib ||
        memory->vm_size_kib > process->vm_peak_kib) {
        read_marks(process);
    }
    raise_to(&process->vm_peak_kib, memory->vm_size_kib);
    raise_to(&process->vm_hwm_kib, memory->vm_rss_kib);
    memory->vm_peak_kib = process->vm_peak_kib;
    memory->vm_hwm_kib = process->vm_hwm_kib;
    return PROBE_OK;
}
