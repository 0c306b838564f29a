#include "check_proc.h"

#include "file.h"
#include "proc_reader.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char mount_proc[] = "mount /proc in this container";
static const char foreign[] = "/proc is another PID namespace's: its numbers mean other processes";
static const char mount_own[] = "mount a /proc of this PID namespace: unshare --mount-proc";

static void all(probe_check_list *list, const char *const *keys, const char *source,
                const char *reason, const char *next_step) {
    for (; *keys != NULL; keys++) {
        if (source != NULL) {
            probe_check_pass(list, "proc", *keys, source, NULL);
        } else {
            probe_check_miss(list, "proc", *keys, reason, next_step);
        }
    }
}

/* Why a file below /proc cannot be read, for a process that can read its own. */
static const char *why(probe_proc_view view, int code, const char *absent) {
    if (view != PROBE_PROC_OURS) {
        return view == PROBE_PROC_OTHERS ? foreign : "/proc is not mounted";
    }
    return code == ENOENT ? absent : strerror(code);
}

static bool readable(const char *root, const char *name) {
    char path[PATH_MAX], text[64];
    if (probe_path_join(path, sizeof path, root, name) != PROBE_OK) {
        return false;
    }
    probe_status status = probe_file_read(AT_FDCWD, path, text, sizeof text, NULL);
    return status == PROBE_OK || status == PROBE_E_OVERFLOW;
}

static void check_tree(probe_check_list *list, const char *root, probe_proc_view view) {
    char name[64];
    (void)snprintf(name, sizeof name, "self/task/%d/children", (int)getpid());
    if (view == PROBE_PROC_OURS && readable(root, name)) {
        probe_check_pass(list, "proc", "processes", "proc_children", NULL);
    } else if (view == PROBE_PROC_OURS) {
        probe_check_pass(list, "proc", "processes", "proc_scan",
                         "this kernel has no children files: every process of the host is looked "
                         "at, which costs more");
    } else {
        bool others = view == PROBE_PROC_OTHERS;
        probe_check_miss(list, "proc", "processes", why(view, 0, NULL),
                         others ? mount_own : mount_proc);
    }
}

void probe_check_proc(probe_check_list *list, const probe_check_config *config) {
    static const char *const exact[] = {"pct_cpu", "vol_ctxt", "inv_ctxt", NULL};
    static const char *const io[] = {"rchar",      "wchar",       "syscr", "syscw",
                                     "read_bytes", "write_bytes", NULL};
    static const char *const memory[] = {"vmem", "rss", "peak_vmem", NULL};
    static const char *const peak[] = {"peak_rss", NULL}, *const share[] = {"pct_mem", NULL},
                             *const model[] = {"cpu_name", NULL};
    static probe_host host;
    const char *root = config->proc_root, *by_number = probe_proc_by_number(root);
    probe_proc_memory own;
    probe_proc_io own_io;
    probe_proc_view view = probe_proc_view_of(root);
    const char *next = view == PROBE_PROC_OURS     ? NULL
                       : view == PROBE_PROC_OTHERS ? mount_own
                                                   : mount_proc;
    probe_check_pass(list, "proc", "realtime", "clock_monotonic", NULL);
    all(list, exact, "rusage", NULL, NULL);
    bool io_read = probe_proc_read_io(by_number, "self/io", &own_io) == PROBE_OK;
    const char *reason = why(view, errno, "this kernel does not account I/O for each task");
    all(list, io, io_read ? "proc_io" : NULL, reason, next);
    bool memory_read = probe_proc_read_memory(by_number, getpid(), &own) == PROBE_OK;
    reason = why(view, errno, "the status of processes cannot be read");
    all(list, memory, memory_read ? "proc_status" : NULL, reason, next);
    all(list, peak, memory_read ? "proc_status" : "rusage", NULL, NULL);
    probe_host_read(root, &host);
    all(list, share, memory_read && host.mem_total_kib > 0 ? "proc_status" : NULL,
        memory_read ? "meminfo does not tell the host's memory" : reason, next);
    all(list, model, host.cpu_name[0] != '\0' ? "proc_cpuinfo" : NULL,
        view != PROBE_PROC_ABSENT ? "cpuinfo names no processor model" : "/proc is not mounted",
        view != PROBE_PROC_ABSENT ? NULL : mount_proc);
    check_tree(list, root, view);
}
