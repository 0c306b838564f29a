#include "conclusion.h"

#include "clock.h"
#include "descriptors.h"
#include "gpu_summary.h"
#include "report.h"
#include "words.h"

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

static void add_exec(probe_words *w, int code, const char *command) {
    probe_words_add(w, "gpu-probe: %.4000s: %s%s\n", command, strerror(code),
                    exec_hint(code, command));
}

int probe_explain_exec(int fd, int code, const char *command) {
    char text[PATH_MAX + 256];
    probe_words w = {.out = text, .size = sizeof text};
    add_exec(&w, code, command);
    (void)probe_say(fd, text);
    return probe_exec_status(code);
}

/* One line if the trace, or its copy, is not where it should be. */
static void add_place(probe_words *w, const probe_measurement *m) {
    const probe_error *copy = &m->copy.place.error;
    if (m->file_error.status != PROBE_OK) {
        probe_report_no_trace(m, w->out + w->used, w->size - w->used);
        w->used += strlen(w->out + w->used);
    } else if (m->copy.wanted && copy->status != PROBE_OK) {
        probe_words_add(w, "gpu-probe: --copy-to: %s: %s: %s\n", copy->what, copy->detail,
                        strerror(copy->sys_errno));
    }
}

void probe_conclude_unexecuted(const probe_measurement *m, const probe_audience *ears, int code,
                               const char *command) {
    char text[5 * PATH_MAX];
    probe_words w = {.out = text, .size = sizeof text};
    add_exec(&w, code, command);
    if (ears->fd >= 0) {
        add_place(&w, m);
        probe_audience_tell(ears, text);
    } else { /* also with --quiet */
        const probe_audience anyone = {
            .fd = 2, .may_hang = probe_descriptors_kind(2) == PROBE_DESCRIPTOR_FILE};
        probe_audience_tell(&anyone, text);
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
    char text[5 * PATH_MAX] = "";
    probe_words w = {.out = text, .size = sizeof text};
    if (ears->fd < 0) {
        return;
    }
    if (ears->summary) {
        probe_report_format(m, ears->unicode, text, sizeof text);
    } else {
        add_place(&w, m);
    }
    recollect(m, words);
    size_t used = strlen(text);
    (void)probe_last_words_format(words, text + used, sizeof text - used); /* none: untouched */
    probe_audience_tell(ears, text);
}
