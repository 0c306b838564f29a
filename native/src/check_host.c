#include "check_host.h"

#include "cgroup_reader.h"
#include "file.h"
#include "proc_reader.h"
#include "trace_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char mount_proc[] = "mount /proc in this container";

void probe_check_trace_place(probe_check_list *list, const probe_check_config *config) {
    static probe_trace_file target;
    char fusion[PATH_MAX], reason[2 * PROBE_CHECK_DETAIL];
    probe_error error = {0};
    bool made = config->trace_file == NULL &&
                probe_path_join(fusion, sizeof fusion, config->workdir, ".fusion") == PROBE_OK &&
                access(fusion, F_OK) != 0;
    if (probe_trace_file_open(&target, config->workdir, config->trace_file, &error) == PROBE_OK) {
        /* A file of another name: a trace that is there is not ours to touch. */
        int fd = openat(target.directory, target.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                        0666);
        bool writable = fd >= 0 && write(fd, "\n", 1) == 1;
        int code = errno;
        if (fd >= 0) {
            (void)close(fd);
            (void)unlinkat(target.directory, target.temporary, 0);
        }
        if (!writable) {
            (void)probe_fail_detail(&error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                                    target.path);
        }
    }
    if (error.status == PROBE_OK) {
        probe_check_pass(list, "trace", "file", "file_system", target.path);
    } else {
        (void)snprintf(reason, sizeof reason, "%s: %s: %s", error.what, strerror(error.sys_errno),
                       error.detail);
        probe_check_miss(list, "trace", "file", reason,
                         "name a directory that you can write to: --workdir DIR or --trace-file "
                         "FILE");
    }
    probe_trace_file_close(&target);
    if (made) {
        (void)rmdir(fusion);
    }
}

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
static const char *why(bool mounted, int code, const char *absent) {
    if (!mounted) {
        return "/proc is not mounted";
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

static void check_tree(probe_check_list *list, const char *root, bool mounted) {
    char name[64];
    (void)snprintf(name, sizeof name, "self/task/%d/children", (int)getpid());
    if (readable(root, name)) {
        probe_check_pass(list, "proc", "processes", "proc_children", NULL);
    } else if (mounted) {
        probe_check_pass(list, "proc", "processes", "proc_scan",
                         "this kernel has no children files: every process of the host is looked "
                         "at, which costs more");
    } else {
        probe_check_miss(list, "proc", "processes", "/proc is not mounted", mount_proc);
    }
}

void probe_check_proc(probe_check_list *list, const probe_check_config *config) {
    static const char *const exact[] = {"realtime", "pct_cpu", "vol_ctxt", "inv_ctxt", NULL};
    static const char *const io[] = {"rchar",      "wchar",       "syscr", "syscw",
                                     "read_bytes", "write_bytes", NULL};
    static const char *const memory[] = {"vmem", "rss", "peak_vmem", NULL};
    static const char *const peak[] = {"peak_rss", NULL}, *const share[] = {"pct_mem", NULL},
                             *const model[] = {"cpu_name", NULL};
    static probe_host host;
    const char *root = config->proc_root;
    probe_proc_memory own;
    probe_proc_io own_io;
    bool mounted = readable(root, "self/stat");
    const char *next = mounted ? NULL : mount_proc;
    all(list, exact, "rusage", NULL, NULL);
    bool io_read = probe_proc_read_io(root, "self/io", &own_io) == PROBE_OK;
    const char *reason = why(mounted, errno, "this kernel does not account I/O for each task");
    all(list, io, io_read ? "proc_io" : NULL, reason, next);
    bool memory_read = probe_proc_read_memory(root, getpid(), &own) == PROBE_OK;
    reason = why(mounted, errno, "the status of processes cannot be read");
    all(list, memory, memory_read ? "proc_status" : NULL, reason, next);
    all(list, peak, memory_read ? "proc_status" : "rusage", NULL, NULL);
    probe_host_read(root, &host);
    all(list, share, memory_read && host.mem_total_kib > 0 ? "proc_status" : NULL,
        memory_read ? "meminfo does not tell the host's memory" : reason, next);
    all(list, model, host.cpu_name[0] != '\0' ? "proc_cpuinfo" : NULL,
        mounted ? "cpuinfo names no processor model" : "/proc is not mounted", next);
    check_tree(list, root, mounted);
}

static bool between(probe_cgroup_key key, probe_cgroup_key first, probe_cgroup_key last) {
    return key >= first && key <= last;
}

typedef struct {
    const char *reason, *next_step;
} explanation;

static explanation explain_psi(const probe_check_config *config, const probe_cgroup_reader *reader,
                               probe_cgroup_key key) {
    char pressure[PATH_MAX];
    bool off =
        probe_path_join(pressure, sizeof pressure, config->proc_root, "pressure/cpu") != PROBE_OK ||
        access(pressure, F_OK) != 0;
    if (off) {
        return (explanation){"the kernel's pressure stall information (PSI) is off",
                             "the host's administrator can boot with psi=1"};
    }
    if (reader->paths.unified[0] == '\0') {
        return (explanation){"only the host's root group, or no cgroup v2 tree, tells it here",
                             "give the task a cgroup v2 group of its own"};
    }
    if (key == PROBE_CG_CPU_PSI_FULL) {
        return (explanation){"kernels before 5.13 do not tell it for the CPU", NULL};
    }
    return (explanation){"this group has no readable pressure file", NULL};
}

static explanation explain(const probe_check_config *config, const probe_cgroup_reader *reader,
                           probe_cgroup_key key) {
    const probe_cgroup_paths *paths = &reader->paths;
    if (between(key, PROBE_CG_CPU_PSI_SOME, PROBE_CG_IO_PSI_FULL)) {
        return explain_psi(config, reader, key);
    }
    if (between(key, PROBE_CG_IO_READ_BYTES, PROBE_CG_IO_WRITE_OPS)) {
        return paths->version == 1
                   ? (explanation){"cgroup v1 counts no block I/O; proc counts the task's own",
                                   "boot the host with cgroup v2"}
                   : (explanation){"the io controller is not delegated to this group",
                                   "let the engine or systemd delegate it: Delegate=io"};
    }
    if (between(key, PROBE_CG_CPU_USAGE_USEC, PROBE_CG_CPU_SYSTEM_USEC)) {
        return (explanation){"only the host's root group counts CPU time; proc has the task's own",
                             NULL};
    }
    if (key == PROBE_CG_CPU_QUOTA || key == PROBE_CG_CPU_PERIOD ||
        between(key, PROBE_CG_CPU_NR_THROTTLED, PROBE_CG_CPU_THROTTLED_USEC)) {
        return (explanation){"no cpu controller in this group or above it, so no CPU limit either",
                             NULL};
    }
    if (key == PROBE_CG_MEMORY_OOM_KILLS) {
        return (explanation){"this kernel does not count OOM kills here", NULL};
    }
    return (explanation){"the group's memory files cannot be read", NULL};
}

static void check_group(probe_check_list *list, const probe_cgroup_reader *reader,
                        const probe_cgroup_reading *reading, const char *proc_root) {
    char detail[PROBE_CHECK_DETAIL];
    (void)snprintf(detail, sizeof detail, "%s%.170s",
                   probe_cgroup_shared(reader, proc_root, "self")
                       ? "shared: its memory figures include others'; "
                       : "",
                   reader->paths.memory);
    probe_check_pass(list, "cgroup", "group", reading->version == 2 ? "cgroup_v2" : "cgroup_v1",
                     detail);
}

void probe_check_cgroup(probe_check_list *list, const probe_check_config *config) {
    static probe_cgroup_reader reader;
    probe_cgroup_reading reading;
    probe_error error = {0};
    char missing[2 * PROBE_CHECK_DETAIL];
    probe_status status =
        probe_cgroup_open(&reader, config->proc_root, config->fs_root, "self", &error);
    probe_host host;
    probe_host_read(config->proc_root, &host);
    probe_cgroup_settle(&reader, host.mem_total_kib * 1024);
    probe_cgroup_get(&reader, &reading);
    bool found = status == PROBE_OK && reader.paths.version != 0;
    static const char own_group[] =
        "run the task in a group of its own: a container, a Slurm step or a systemd scope";
    if (found) {
        check_group(list, &reader, &reading, config->proc_root);
    } else if (error.detail[0] != '\0') {
        (void)snprintf(missing, sizeof missing, "not found: %s: %s",
                       error.what == NULL ? "control group" : error.what, error.detail);
        probe_check_miss(list, "cgroup", "group", missing, mount_proc);
    } else {
        probe_check_miss(list, "cgroup", "group",
                         "only the host's root group, or no control group with memory figures, is "
                         "visible",
                         own_group);
    }
    for (int i = 0; i < PROBE_CG_COUNT; i++) {
        probe_cgroup_key key = (probe_cgroup_key)i;
        const char *name = probe_cgroup_key_name(key);
        if ((reading.valid >> i & 1U) != 0) {
            bool sampled = key == PROBE_CG_MEMORY_PEAK && reading.peak_sampled;
            probe_check_pass(list, "cgroup", name, reading.version == 2 ? "cgroup_v2" : "cgroup_v1",
                             sampled ? "sampled: this kernel has no memory.peak" : NULL);
        } else if (!found) {
            probe_check_miss(list, "cgroup", name, "there is no group to read: see cgroup.group",
                             NULL);
        } else {
            explanation e = explain(config, &reader, key);
            probe_check_miss(list, "cgroup", name, e.reason, e.next_step);
        }
    }
}
