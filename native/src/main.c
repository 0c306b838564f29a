/* gpu-probe: runs a command unchanged and writes down what it used. The lifecycle, top to bottom.
 */
#include "audience.h"
#include "check.h"
#include "clock.h"
#include "descriptors.h"
#include "gpu_summary.h"
#include "last_words.h"
#include "measurement.h"
#include "nextflow.h"
#include "options.h"
#include "report.h"
#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_OWN_ERROR = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* Kept open for the files of processes, and left for everything else. */
enum { DESCRIPTORS = 1024, DESCRIPTORS_SPARE = 64 };

/* The helper lies beside this executable, however that was found. */
static bool find_helper(char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0) {
        return false;
    }
    path[length] = '\0';
    char *name = strrchr(path, '/');
    size_t left = name == NULL ? 0 : size - (size_t)(name + 1 - path);
    return name != NULL && snprintf(name + 1, left, "gpu-probe-nvml") < (int)left;
}

/* Inherited descriptors are the command's now. Ours must go, but for what is in use: a pipe's
 * reader waits for the last writer, a lock for its last holder. */
static void drop_inherited(const probe_measurement *m, const probe_audience *ears) {
    int kept[2 + PROBE_SAMPLER_DESCRIPTORS] = {ears->fd, m->place.file.directory};
    size_t count = probe_sampler_descriptors(&m->sampler, kept + 2, PROBE_SAMPLER_DESCRIPTORS);
    probe_descriptors_keep(kept, 2 + count);
}

/* Reaps everything that has ended. Before the command itself goes, its last readings are taken;
 * end_ns is when it was seen to have ended. */
static void reap(probe_measurement *m, probe_task *task, int64_t *end_ns) {
    pid_t pid = 0;
    int stop = 0;
    probe_child_event event;
    while ((event = probe_task_next_child(task, &pid, &stop)) != PROBE_CHILD_NONE) {
        if (event == PROBE_CHILD_STOPPED) {
            probe_task_stop_as(task, stop);
            m->sampler.excluded[PROBE_EXCLUDED_WATCHER] = task->watcher;
            continue;
        }
        probe_proc_io io;
        char path[32];
        (void)snprintf(path, sizeof path, "%d/io", (int)pid);
        bool ours = probe_measurement_owns(m, pid);
        bool io_read = ours && probe_proc_read_io("/proc", path, &io) == PROBE_OK;
        if (pid == task->pid) {
            *end_ns = probe_clock_mono_ns();
            probe_measurement_end(m);
        }
        int status = 0;
        struct rusage usage;
        if (wait4(pid, &status, __WALL, &usage) != pid) {
            return;
        }
        if (ours) {
            probe_measurement_reaped(m, pid, &usage, io_read ? &io : NULL);
            task->watcher = pid == task->watcher ? 0 : task->watcher;
        } else if (pid == task->pid) {
            task->ended = true;
            task->status = status;
        }
    }
}

/* Samples and passes signals on until the command has ended. Returns when that was. */
static int64_t watch(probe_measurement *m, probe_task *task, probe_audience *ears,
                     probe_last_words *words) {
    int64_t end_ns = 0;
    for (;;) {
        reap(m, task, &end_ns);
        if (task->ended) {
            return end_ns;
        }
        siginfo_t info;
        int64_t due_ns = probe_measurement_next_ns(m);
        int64_t look_ns = probe_clock_mono_ns() + PROBE_NS_PER_S; /* long intervals are no excuse */
        due_ns = probe_audience_follows(ears) && look_ns < due_ns ? look_ns : due_ns;
        switch (probe_task_wait_signal(due_ns, &info)) {
        case 0:
            probe_measurement_step(m);
            probe_audience_follow(ears, task->pid);
            break;
        case SIGCHLD:
            break;
        case SIGTERM:
        case SIGINT:
        case SIGHUP:
        case SIGXCPU: /* a SIGKILL may follow soon */
            if (info.si_signo == SIGTERM || info.si_signo == SIGXCPU) {
                words->warned_signal = info.si_signo;
                words->warned_ms = (probe_clock_mono_ns() - m->sampler.start_ns) / PROBE_NS_PER_MS;
            }
            probe_task_forward(task, &info);
            probe_measurement_checkpoint(m);
            break;
        default:
            probe_task_forward(task, &info);
        }
    }
}

static int explain_exec_failure(int ears, int code, const char *command) {
    char text[PATH_MAX + 256];
    (void)snprintf(text, sizeof text, "gpu-probe: %s: %s\n", command, strerror(code));
    probe_say(ears, text);
    return code == ENOENT || code == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
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
    }
    words->oom_kills = cgroup->value[PROBE_CG_MEMORY_OOM_KILLS];
    words->oom_shared = trace->cgroup_shared;
    if (trace->gpu != NULL && trace->gpu->count > 0) {
        probe_gpu_figures figures;
        probe_gpu_total_figures(trace->gpu, trace->realtime_ns, &figures);
        words->vram_used_mib = figures.used_valid ? figures.peak_used_mib : 0;
        words->vram_total_mib = figures.used_valid && figures.total_valid ? figures.mem_mib : 0;
        words->vram_peak_ms = trace->gpu->peak_used_ns / PROBE_NS_PER_MS;
        words->xids = probe_gpu_distinct_xids(trace->gpu, words->xid, PROBE_LAST_WORDS_XIDS);
        for (int i = 0; i < trace->gpu->count; i++) {
            words->gpu_lost = words->gpu_lost || trace->gpu->device[i].lost;
        }
    }
}

/* A place that the user named and that fails. */
static void explain_place(const probe_measurement *m, char *out, size_t size) {
    const probe_error *copy = &m->copy.place.error;
    if (m->file_error.status != PROBE_OK) {
        const char *elsewhere = m->place.elsewhere;
        (void)snprintf(out, size, "gpu-probe: %s: %s: %s%s%s\n", m->file_error.what,
                       m->file_error.detail, strerror(m->file_error.sys_errno),
                       elsewhere[0] != '\0' ? "; it is in " : "", elsewhere);
    } else if (m->copy.wanted && copy->status != PROBE_OK) {
        (void)snprintf(out, size, "gpu-probe: --copy-to: %s: %s: %s\n", copy->what, copy->detail,
                       strerror(copy->sys_errno));
    }
}

static void conclude(const probe_measurement *m, const probe_audience *ears,
                     probe_last_words *words) {
    char text[5 * PATH_MAX] = "";
    if (ears->fd < 0) {
        return;
    }
    if (ears->summary) {
        probe_report_format(m, ears->unicode, text, 4 * PATH_MAX);
    } else if (ears->place_given) {
        explain_place(m, text, 4 * PATH_MAX);
    }
    recollect(m, words);
    size_t used = strlen(text);
    (void)probe_last_words_format(words, text + used, sizeof text - used); /* none: untouched */
    probe_audience_tell(ears, text);
}

/* Starts the command, in groups of its own if there are any. 0, or errno. */
static int spawn(probe_task *task, probe_measurement *m, char **command) {
    probe_task_groups groups = {0};
    _Static_assert(PROBE_TASK_GROUPS == (int)PROBE_OWN_COUNT, "one descriptor per hierarchy");
    memcpy(groups.procs, m->own.procs, sizeof groups.procs);
    int code = probe_task_spawn(task, command, m->own.active ? &groups : NULL);
    probe_measurement_entered(m, groups.errors);
    return code;
}

/* What can be kept without running out. */
static int kept_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max <= DESCRIPTORS_SPARE) {
        return 0;
    }
    rlim_t room = limit.rlim_max - DESCRIPTORS_SPARE;
    return room < DESCRIPTORS ? (int)room : DESCRIPTORS;
}

static void explain_limit(const struct rlimit *limit) {
    char text[160];
    (void)snprintf(text, sizeof text,
                   "gpu-probe: no trace: %u open files at most (ulimit -Hn) are too few, %d are "
                   "needed; the command runs unmeasured\n",
                   (unsigned int)limit->rlim_max, PROBE_DESCRIPTORS_FEWEST);
    probe_say(2, text);
}

/* Becomes the command: it is measured by another wrapper, outside or inside, or cannot be. */
static int stand_aside(const probe_options *options, const struct rlimit *descriptors) {
    if (descriptors != NULL) {
        (void)setrlimit(RLIMIT_NOFILE, descriptors);
    }
    return explain_exec_failure(2, probe_task_become(options->command), options->command[0]);
}

/* But for the helper, which can be looked for when the command runs. */
static probe_measurement_config configure(const probe_options *options) {
    return (probe_measurement_config){
        .workdir = options->workdir,
        .trace_file = options->trace_file,
        .copy_to = options->copy_to,
        .nvml_library = options->nvml_library,
        .gpus = options->gpus,
        .scope = PROBE_SCOPE_DESCENDANTS,
        .interval_ns = options->interval_ns,
        .cgroup_mode = options->cgroup_mode,
        .timeline = options->timeline,
        .budget_ppm = options->budget_ppm,
        .max_descriptors = kept_descriptors(),
        .start_writer = probe_trace_writer_process,
    };
}

static probe_outcome outcome_of(int status) {
    return (probe_outcome){
        .exited = WIFEXITED(status),
        .exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
        .signalled = WIFSIGNALED(status),
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
    };
}

static int run(const probe_options *options) {
    struct rlimit limit;
    bool raised, enough = probe_descriptors_begin(&limit, &raised);
    const struct rlimit *inherited = raised ? &limit : NULL;
    if (!enough && !options->quiet) {
        explain_limit(&limit);
    }
    if (!enough || probe_nextflow_measures_inside(options->command)) {
        return stand_aside(options, inherited);
    }
    static probe_measurement m; /* some 250 KiB, of which a short task touches little */
    static char helper[PATH_MAX];
    probe_task task;
    const probe_measurement_config config = configure(options);
    if (!probe_measurement_open(&m, &config)) {
        probe_measurement_close(&m);
        return stand_aside(options, inherited);
    }
    probe_last_words words = {0};
    probe_audience ears = probe_audience_choose(options);
    probe_task_prepare(&task);
    task.descriptors = inherited;
    probe_measurement_start(&m);
    int code = spawn(&task, &m, options->command);
    if (code != 0) {
        probe_measurement_close(&m);
        return explain_exec_failure(2, code, options->command[0]);
    }
    drop_inherited(&m, &ears);
    probe_descriptors_raise(DESCRIPTORS + DESCRIPTORS_SPARE);
    m.config.helper_path = find_helper(helper, sizeof helper) ? helper : NULL;
    probe_measurement_begin(&m);
    int64_t end_ns = watch(&m, &task, &ears, &words);
    if (*task.exec_errno != 0) { /* where the spawn came back before exec */
        probe_measurement_close(&m);
        return explain_exec_failure(ears.fd, *task.exec_errno, options->command[0]);
    }
    probe_outcome outcome = outcome_of(task.status);
    probe_measurement_finish(&m, end_ns, &outcome);
    conclude(&m, &ears, &words);
    probe_measurement_close(&m);
    probe_task_exit_as(task.status);
}

static int check(const probe_options *options) {
    static char text[PROBE_CHECK_TEXT_SIZE], helper[PATH_MAX];
    const probe_check_config config = {
        .proc_root = "/proc",
        .fs_root = "",
        .dev_root = "/dev",
        .workdir = options->workdir,
        .trace_file = options->trace_file,
        .helper_path = find_helper(helper, sizeof helper) ? helper : NULL,
        .nvml_library = options->nvml_library,
        .gpus = options->gpus,
        .interval_ns = options->interval_ns,
        .cgroup_mode = options->cgroup_mode,
    };
    probe_check_run(&config, options->json, text, sizeof text);
    probe_say(1, text);
    return 0;
}

/* A descriptor that the caller closed must not become one of our files: 0, 1 and 2 are taken, and
 * closed again for the command. */
static void take_standard_descriptors(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= 2);
    if (fd > 2) {
        (void)close(fd);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    take_standard_descriptors();
    probe_options options;
    probe_options_parse(&options, argv);
    switch (options.action) {
    case PROBE_SHOW_HELP:
        probe_say(1, probe_help);
        return 0;
    case PROBE_SHOW_VERSION:
        probe_say(1, "gpu-probe " PROBE_VERSION "\n");
        return 0;
    case PROBE_CHECK:
        return check(&options);
    case PROBE_USAGE_ERROR:
        probe_say(2, "gpu-probe: ");
        probe_say(2, options.error);
        probe_say(2, "\n");
        return EXIT_OWN_ERROR;
    default:
        return run(&options);
    }
}
