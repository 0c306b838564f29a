#include "usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t cpu_usec(const struct rusage *usage) {
    return ((int64_t)usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

static void add_rusage(probe_usage *sum, const struct rusage *usage, int sign) {
    sum->cpu_usec += sign * cpu_usec(usage);
    sum->voluntary += sign * (int64_t)usage->ru_nvcsw;
    sum->involuntary += sign * (int64_t)usage->ru_nivcsw;
}

static void add_io(probe_usage *sum, const probe_proc_io *io, int sign) {
    const uint64_t value[] = {io->rchar, io->wchar,      io->syscr,
                              io->syscw, io->read_bytes, io->write_bytes};
    for (size_t i = 0; i < sizeof value / sizeof value[0]; i++) {
        sum->io[i] += sign * (int64_t)value[i];
    }
}

/* This process's io file includes all children it has waited for, and its own threads. The
 * measuring thread's share is in that thread's file. That file is read first, so the process's
 * figures already include this reading. Its one call is in the baseline too and needs no
 * correction; its bytes do, as the file grows with its numbers. */
static void add_own_io(const probe_usage_reader *reader, probe_usage *sum) {
    probe_proc_io process, thread;
    size_t length = 0;
    sum->io_valid = probe_proc_reread_io(reader->thread_io, &thread, &length) == PROBE_OK &&
                    probe_proc_reread_io(reader->process_io, &process, NULL) == PROBE_OK;
    if (!sum->io_valid) {
        return;
    }
    thread.rchar += length;
    add_io(sum, &process, 1);
    add_io(sum, &thread, -1);
}

static void add_live_cpu(probe_usage *sum, const char *proc_root, pid_t pid) {
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    probe_proc_stat stat;
    if (probe_proc_read_stat(proc_root, pid, &stat) == PROBE_OK) {
        sum->cpu_usec += (int64_t)(stat.cpu_ticks * 1000000 / hz);
        sum->alive += stat.state != 'Z';
    }
}

static void add_live(probe_usage *sum, const char *proc_root, const probe_tree *tree) {
    for (size_t i = 0; i < tree->count; i++) {
        pid_t pid = tree->pid[i];
        add_live_cpu(sum, proc_root, pid);
        uint64_t voluntary, involuntary;
        if (probe_proc_read_switches(proc_root, pid, &voluntary, &involuntary) == PROBE_OK) {
            sum->voluntary += (int64_t)voluntary;
            sum->involuntary += (int64_t)involuntary;
        }
        char path[32];
        probe_proc_io io;
        (void)snprintf(path, sizeof path, "%d/io", (int)pid);
        if (sum->io_valid && probe_proc_read_io(proc_root, path, &io) == PROBE_OK) {
            add_io(sum, &io, 1);
        }
    }
}

/* What the kernel has already added up for this process and its children. */
static void add_own(probe_usage *usage, probe_usage_scope scope) {
    struct rusage own;
    if (getrusage(RUSAGE_CHILDREN, &own) == 0) {
        add_rusage(usage, &own, 1);
        usage->maxrss_kib = (uint64_t)own.ru_maxrss;
    }
    if (scope == PROBE_SCOPE_PROCESS) {
        struct rusage thread;
        if (getrusage(RUSAGE_SELF, &own) == 0 && getrusage(RUSAGE_THREAD, &thread) == 0) {
            add_rusage(usage, &own, 1);
            add_rusage(usage, &thread, -1);
        }
    }
}

/* Everything so far, before baseline and exclusions. */
static void read_all(const probe_usage_reader *reader, const probe_tree *tree, probe_usage *usage) {
    *usage = (probe_usage){0};
    add_own_io(reader, usage);
    add_own(usage, reader->scope);
    add_live(usage, reader->proc_root, tree);
}

void probe_usage_open(probe_usage_reader *reader, const char *proc_root, probe_usage_scope scope,
                      const probe_tree *tree) {
    char path[256];
    *reader = (probe_usage_reader){.proc_root = proc_root, .scope = scope};
    (void)snprintf(path, sizeof path, "%s/self/task/%ld/io", proc_root, (long)syscall(SYS_gettid));
    reader->thread_io = open(path, O_RDONLY | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "%s/self/io", proc_root);
    reader->process_io = open(path, O_RDONLY | O_CLOEXEC);
    read_all(reader, tree, &reader->baseline);
    reader->baseline_maxrss_kib = reader->baseline.maxrss_kib;
}

void probe_usage_close(probe_usage_reader *reader) {
    if (reader->thread_io >= 0) {
        (void)close(reader->thread_io); /* read-only: nothing to lose */
    }
    if (reader->process_io >= 0) {
        (void)close(reader->process_io);
    }
    reader->thread_io = reader->process_io = -1;
}

static int64_t since(int64_t now, int64_t baseline, int64_t excluded) {
    int64_t difference = now - baseline - excluded;
    return difference > 0 ? difference : 0;
}

void probe_usage_read(const probe_usage_reader *reader, const probe_tree *tree,
                      probe_usage *usage) {
    const probe_usage *base = &reader->baseline, *out = &reader->excluded;
    read_all(reader, tree, usage);
    usage->cpu_usec = since(usage->cpu_usec, base->cpu_usec, out->cpu_usec);
    usage->voluntary = since(usage->voluntary, base->voluntary, out->voluntary);
    usage->involuntary = since(usage->involuntary, base->involuntary, out->involuntary);
    usage->io_valid = usage->io_valid && base->io_valid;
    for (size_t i = 0; i < sizeof usage->io / sizeof usage->io[0]; i++) {
        usage->io[i] = since(usage->io[i], base->io[i], out->io[i]);
    }
    /* A maximum of the whole life of this process: it belongs to the task only if it rose since. An
     * excluded child may have set it. */
    if (usage->maxrss_kib <= reader->baseline_maxrss_kib || usage->maxrss_kib <= out->maxrss_kib) {
        usage->maxrss_kib = 0;
    }
}

int64_t probe_usage_read_cpu(const probe_usage_reader *reader, const probe_tree *tree) {
    probe_usage now = {0};
    add_own(&now, reader->scope);
    for (size_t i = 0; i < tree->count; i++) {
        add_live_cpu(&now, reader->proc_root, tree->pid[i]);
    }
    return since(now.cpu_usec, reader->baseline.cpu_usec, reader->excluded.cpu_usec);
}

void probe_usage_exclude(probe_usage_reader *reader, const struct rusage *usage,
                         const probe_proc_io *io) {
    add_rusage(&reader->excluded, usage, 1);
    if ((uint64_t)usage->ru_maxrss > reader->excluded.maxrss_kib) {
        reader->excluded.maxrss_kib = (uint64_t)usage->ru_maxrss;
    }
    if (io != NULL) {
        add_io(&reader->excluded, io, 1);
    }
}
