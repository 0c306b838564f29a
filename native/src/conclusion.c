#include "conclusion.h"

#include "clock.h"
#include "gpu_summary.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

int probe_exec_status(int code) {
    return code == ENOENT || code == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* What is likely to be wrong, as far as a look at the file tells. */
static const char *exec_hint(int code, const char *command) {
    bool path = strchr(command, '/') != NULL;
    if (code == ENOENT && path) {
        return access(command, F_OK) == 0
                   ? "; the file is there: the interpreter of its first line, or its loader, is not"
                   : "";
    }
    if (code == ENOENT && strchr(command, ' ') != NULL) {
        return "; command and arguments are words of their own: without quotes around them all";
    }
    if (code == ENOENT) {
        return access(command, F_OK) == 0 ? "; it is in this directory, but not on PATH: call it "
                                            "by ./NAME"
                                          : "; it is not on PATH";
    }
    struct stat at;
    if (code == EACCES && path && stat(command, &at) == 0) {
        bool executable = (at.st_mode & 0111) != 0;
        return S_ISDIR(at.st_mode) ? "; it is a directory"
               : executable        ? ""
                                   : "; it is not marked as executable: chmod +x does that";
    }
    return code == ENOEXEC ? "; cannot execute binary file: it is damaged, or for another machine"
                           : "";
}

int probe_explain_exec(int fd, int code, const char *command) {
    char text[PATH_MAX + 256];
    (void)snprintf(text, sizeof text, "gpu-probe: %.4000s: %s%s\n", command, strerror(code),
                   exec_hint(code, command));
    (void)probe_say(fd, text);
    return probe_exec_status(code);
}

void probe_conclude_place(const probe_measurement *m, const probe_audience *ears) {
    const probe_error *copy = &m->place.copy_error;
    char text[4 * PATH_MAX];
    if (ears->fd < 0 || !probe_audience_takes_a_line(ears->fd)) {
        return;
    }
    if (m->file_error.status != PROBE_OK) {
        probe_report_no_trace(m, text, sizeof text);
        (void)probe_say(ears->fd, text);
    } else if (copy->status != PROBE_OK) {
        (void)snprintf(text, sizeof text, "gpu-probe: --copy-to: %s: %s: %s\n", copy->what,
                       copy->detail, strerror(copy->sys_errno));
        (void)probe_say(ears->fd, text);
    }
}

/* What is known of the command's end, beside what is in words already. */
static void recollect(const probe_measurement *m, probe_last_words *words) {
    const probe_trace *trace = &m->trace;
    const probe_cgroup_reading *cgroup = &trace->cgroup;
    words->signal = trace->signalled ? trace->signal : 0;
    words->exit_status = trace->exit_status;
    words->elapsed_ms = trace->proc.realtime_ms;
    words->rss_bytes = trace->proc.peak_rss_kib * 1024;
    words->limit_bytes = cgroup->value[PROBE_CG_MEMORY_LIMIT]; /* 0 also when it is not valid */
    if (words->limit_bytes == 0) {
        words->limit_bytes = trace->host->mem_total_kib * 1024;
        words->limit_is_hosts = true;
    }
    words->oom_kills = cgroup->value[PROBE_CG_MEMORY_OOM_KILLS];
    words->oom_shared = trace->cgroup_shared;
    if (trace->gpu != NULL && trace->gpu->count > 0) {
        probe_gpu_figures figures;
        probe_gpu_total_figures(trace->gpu, trace->realtime_ns, &figures);
        words->vram_used_mib = figures.used_valid ? figures.peak_used_mib : 0;
        words->vram_total_mib = figures.used_valid && figures.total_valid ? figures.mem_mib : 0;
        words->vram_peak_ms = 0; /* accounting knows no time */
        if (words->vram_used_mib == trace->gpu->peak_used_bytes >> 20) {
            words->vram_peak_ms = trace->gpu->peak_used_ns / PROBE_NS_PER_MS;
        }
        words->xids = probe_gpu_distinct_xids(trace->gpu, words->xid, PROBE_LAST_WORDS_XIDS);
        for (int i = 0; i < trace->gpu->count; i++) {
            words->gpu_lost = words->gpu_lost || trace->gpu->device[i].lost;
        }
    }
}

void probe_conclude(const probe_measurement *m, const probe_audience *ears,
                    probe_last_words *words) {
    char text[4 * PATH_MAX];
    if (ears->fd >= 0 && !probe_audience_takes_a_line(ears->fd)) {
        return; /* a reader that has stopped reading is not waited for */
    }
    if (ears->summary) {
        probe_report_format(m, ears->unicode, text, sizeof text);
        (void)probe_say(ears->fd, text);
    } else {
        probe_conclude_place(m, ears);
    }
    recollect(m, words);
    if (ears->fd >= 0 && probe_last_words_format(words, text, sizeof text) &&
        probe_audience_takes_a_line(ears->fd)) {
        (void)probe_say(ears->fd, text);
    }
}
