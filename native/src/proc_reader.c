#include "proc_reader.h"

#include "file.h"
#include "numbers.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static probe_status read_below(const char *proc_root, const char *path, char *buf, size_t size,
                               size_t *length) {
    char whole[256];
    if (probe_path_join(whole, sizeof whole, proc_root, path) != PROBE_OK) {
        return PROBE_E_OVERFLOW;
    }
    return probe_file_read(AT_FDCWD, whole, buf, size, length);
}

static probe_status read_pid_file(const char *proc_root, pid_t pid, const char *name, char *buf,
                                  size_t size) {
    char path[64];
    (void)snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    return read_below(proc_root, path, buf, size, NULL);
}

/* Fields 3 to 22 of stat. The second one, the name in brackets, may itself hold blanks and
 * brackets: the last bracket ends it. */
static probe_status parse_stat(const char *text, probe_proc_stat *stat) {
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] == '\0') {
        return PROBE_E_FORMAT;
    }
    stat->state = at[2];
    at += 3;
    uint64_t field[20] = {0}; /* field[0] is number 4, the parent */
    for (size_t i = 0; i < sizeof field / sizeof field[0] - 1; i++) {
        while (*at == ' ') {
            at++;
        }
        bool negative = *at == '-'; /* the terminal's process group may be -1 */
        if (!probe_parse_u64(at + negative, &field[i], &at)) {
            return PROBE_E_FORMAT;
        }
    }
    stat->ppid = (pid_t)field[0];
    stat->cpu_ticks = field[10] + field[11] + field[12] + field[13]; /* utime stime cutime cstime */
    stat->exiting = (field[5] & 0x4) != 0;                           /* PF_EXITING */
    stat->start_ticks = field[18];
    return PROBE_OK;
}

probe_status probe_proc_read_stat(const char *proc_root, pid_t pid, probe_proc_stat *stat) {
    char text[1024];
    probe_status status = read_pid_file(proc_root, pid, "stat", text, sizeof text);
    return status == PROBE_OK ? parse_stat(text, stat) : status;
}

probe_status probe_proc_read_own_stat(const char *proc_root, probe_proc_stat *stat) {
    char text[1024];
    probe_status status = read_below(proc_root, "self/stat", text, sizeof text, NULL);
    return status == PROBE_OK ? parse_stat(text, stat) : status;
}

probe_proc_view probe_proc_view_of(const char *proc_root) {
    char path[256], number[24], own[24];
    if (probe_path_join(path, sizeof path, proc_root, "self") != PROBE_OK) {
        return PROBE_PROC_ABSENT;
    }
    ssize_t length = readlink(path, number, sizeof number - 1);
    if (length > 0) {
        number[length] = '\0';
        (void)snprintf(own, sizeof own, "%d", (int)getpid());
        return strcmp(number, own) == 0 ? PROBE_PROC_OURS : PROBE_PROC_OTHERS;
    }
    if (errno == EINVAL) {
        return PROBE_PROC_OURS; /* a directory that stands for one */
    }
    bool mounted = probe_path_join(path, sizeof path, proc_root, "uptime") == PROBE_OK &&
                   access(path, F_OK) == 0;
    return mounted ? PROBE_PROC_OTHERS : PROBE_PROC_ABSENT; /* where we have no number */
}

const char *probe_proc_by_number(const char *proc_root) {
    return probe_proc_view_of(proc_root) == PROBE_PROC_OURS ? proc_root : "/dev/null";
}

bool probe_proc_ended(const char *proc_root, pid_t pid, uint64_t start_ticks) {
    probe_proc_stat stat;
    if (kill(pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    return probe_proc_read_stat(probe_proc_by_number(proc_root), pid, &stat) == PROBE_OK &&
           (stat.start_ticks != start_ticks || stat.state == 'Z' || stat.state == 'X');
}

probe_status probe_proc_parse_memory(const char *status, probe_proc_memory *memory) {
    *memory = (probe_proc_memory){0};
    bool found = probe_find_u64(status, "VmPeak", ':', &memory->vm_peak_kib) &&
                 probe_find_u64(status, "VmSize", ':', &memory->vm_size_kib) &&
                 probe_find_u64(status, "VmHWM", ':', &memory->vm_hwm_kib) &&
                 probe_find_u64(status, "VmRSS", ':', &memory->vm_rss_kib);
    return found ? PROBE_OK : PROBE_E_ABSENT; /* zombies and kernel threads have none */
}

probe_status probe_proc_read_memory(const char *proc_root, pid_t pid, probe_proc_memory *memory) {
    char text[4096];
    probe_status status = read_pid_file(proc_root, pid, "status", text, sizeof text);
    if (status != PROBE_OK && status != PROBE_E_OVERFLOW) { /* the memory lines come early */
        return status;
    }
    return probe_proc_parse_memory(text, memory);
}

static probe_status parse_io(const char *text, probe_proc_io *io) {
    bool found = probe_find_u64(text, "rchar", ':', &io->rchar) &&
                 probe_find_u64(text, "wchar", ':', &io->wchar) &&
                 probe_find_u64(text, "syscr", ':', &io->syscr) &&
                 probe_find_u64(text, "syscw", ':', &io->syscw) &&
                 probe_find_u64(text, "read_bytes", ':', &io->read_bytes) &&
                 probe_find_u64(text, "write_bytes", ':', &io->write_bytes);
    return found ? PROBE_OK : PROBE_E_FORMAT;
}

probe_status probe_proc_read_io(const char *proc_root, const char *path, probe_proc_io *io) {
    char text[512];
    probe_status status = read_below(proc_root, path, text, sizeof text, NULL);
    return status == PROBE_OK ? parse_io(text, io) : status;
}

probe_status probe_proc_reread_io(int fd, probe_proc_io *io, size_t *length) {
    char text[512];
    probe_status status = probe_file_reread(fd, text, sizeof text, length);
    return status == PROBE_OK ? parse_io(text, io) : status;
}

probe_status probe_proc_read_switches(const char *proc_root, pid_t pid, uint64_t *voluntary,
                                      uint64_t *involuntary) {
    char path[320], text[4096];
    (void)snprintf(path, sizeof path, "%s/%d/task", proc_root, (int)pid);
    int task = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (task < 0) {
        return PROBE_E_SYSCALL;
    }
    *voluntary = *involuntary = 0;
    probe_numbers threads;
    pid_t tid;
    probe_numbers_begin(&threads, task);
    while (probe_numbers_next(&threads, &tid)) {
        (void)snprintf(path, sizeof path, "%d/status", (int)tid);
        uint64_t v = 0, n = 0;
        if (probe_file_read(task, path, text, sizeof text, NULL) == PROBE_OK &&
            probe_find_u64(text, "voluntary_ctxt_switches", ':', &v) &&
            probe_find_u64(text, "nonvoluntary_ctxt_switches", ':', &n)) {
            *voluntary += v;
            *involuntary += n;
        }
    }
    (void)close(task);
    return PROBE_OK;
}

/* The value of the first line "model name : VALUE". The kernel makes this file up CPU by CPU, as
 * far as it is asked for: the beginning is enough. */
static void read_cpu_name(const char *proc_root, char *name, size_t size) {
    char path[256], text[512];
    name[0] = '\0';
    int fd = probe_path_join(path, sizeof path, proc_root, "cpuinfo") == PROBE_OK
                 ? open(path, O_RDONLY | O_CLOEXEC)
                 : -1;
    if (fd < 0) {
        return;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, "model name");
    at = at == NULL ? NULL : strchr(at, ':');
    if (at == NULL) {
        return;
    }
    at += 1 + strspn(at + 1, " \t");
    size_t length = strcspn(at, "\n");
    (void)snprintf(name, size, "%.*s", (int)length, at);
}

static void read_boot_id(const char *proc_root, char *id, size_t size) {
    char text[64];
    id[0] = '\0';
    if (read_below(proc_root, "sys/kernel/random/boot_id", text, sizeof text, NULL) == PROBE_OK) {
        (void)snprintf(id, size, "%.*s", (int)strcspn(text, "\n"), text);
    }
}

void probe_host_read(const char *proc_root, probe_host *host) {
    *host = (probe_host){0};
    char text[4096];
    if (read_below(proc_root, "meminfo", text, sizeof text, NULL) != PROBE_E_SYSCALL) {
        (void)probe_find_u64(text, "MemTotal", ':', &host->mem_total_kib);
    }
    read_cpu_name(proc_root, host->cpu_name, sizeof host->cpu_name);
    if (gethostname(host->hostname, sizeof host->hostname - 1) != 0) {
        host->hostname[0] = '\0';
    }
    read_boot_id(proc_root, host->boot_id, sizeof host->boot_id);
    char path[128];
    struct stat link;
    if (probe_path_join(path, sizeof path, proc_root, "self/ns/pid") == PROBE_OK &&
        stat(path, &link) == 0) {
        host->pid_ns = link.st_ino;
    }
    long hz = sysconf(_SC_CLK_TCK);
    host->tick_hz = hz > 0 ? (uint64_t)hz : 100;
    probe_proc_stat self = {0};
    if (probe_proc_read_own_stat(proc_root, &self) == PROBE_OK) {
        host->pid_start = self.start_ticks;
    }
}
