/* gpu-probe: runs a command unchanged and writes down what it used. The lifecycle, top to bottom.
 */
#include "audience.h"
#include "check.h"
#include "clock.h"
#include "conclusion.h"
#include "descriptors.h"
#include "measurement.h"
#include "nextflow.h"
#include "options.h"
#include "own_limits.h"
#include "task.h"
#include "task_signals.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_SAID = 1, EXIT_OWN_ERROR = 125 };

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
    enum { PLACES = 3 };
    int kept[PLACES + PROBE_SAMPLER_DESCRIPTORS] = {ears->fd, m->place.file.directory,
                                                    m->place.mark};
    size_t count =
        PLACES + probe_sampler_descriptors(&m->sampler, kept + PLACES, PROBE_SAMPLER_DESCRIPTORS);
    probe_descriptors_keep(kept, count);
}

/* Reaps everything that has ended. Before the command itself goes, its last readings are taken;
 * end_ns is when it was seen to have ended. */
static void reap(probe_measurement *m, probe_task *task, int64_t *end_ns) {
    pid_t pid = 0;
    int stop = 0;
    probe_child_event event;
    while ((event = probe_task_next_child(task, &pid, &stop)) != PROBE_CHILD_NONE) {
        if (event == PROBE_CHILD_STOPPED) {
            probe_signals_stop_as(task, stop);
            m->sampler.excluded[PROBE_EXCLUDED_WATCHER] = task->watcher;
            continue;
        }
        probe_proc_io io;
        char path[32];
        (void)snprintf(path, sizeof path, "%d/io", (int)pid);
        bool ours = probe_measurement_owns(m, pid);
        bool io_read = ours && probe_proc_read_io(m->sampler.by_number, path, &io) == PROBE_OK;
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
            probe_measurement_reaped(m, pid, status, &usage, io_read ? &io : NULL);
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
        switch (probe_signals_wait(due_ns, &info)) {
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
            probe_signals_forward(task, &info);
            probe_measurement_checkpoint(m);
            break;
        default:
            probe_signals_forward(task, &info);
        }
    }
}

/* Starts the command, in groups of its own if there are any. As probe_task_spawn. */
static int spawn(probe_task *task, probe_measurement *m, char **command) {
    probe_task_groups groups = {0};
    _Static_assert(PROBE_TASK_GROUPS == (int)PROBE_OWN_COUNT, "one descriptor per hierarchy");
    memcpy(groups.procs, m->own.procs, sizeof groups.procs);
    int code = probe_task_spawn(task, command, m->own.active ? &groups : NULL);
    probe_measurement_entered(m, groups.errors);
    return code;
}

/* Becomes the command: it is measured by another wrapper, outside or inside, or cannot be, for
 * reason (NULL: nobody needs to know). */
static int stand_aside(const probe_options *options, const probe_limits *limits,
                       const char *reason) {
    if (reason != NULL && !options->quiet) {
        char text[256];
        (void)snprintf(text, sizeof text, "gpu-probe: no trace: %s; the command runs unmeasured\n",
                       reason);
        (void)probe_say(2, text);
    }
    probe_limits_give_back(limits);
    return probe_explain_exec(2, probe_task_become(options->command), options->command[0]);
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
        .max_descriptors = probe_descriptors_room(),
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

/* The command could not be executed: a trace says so, and takes the place of an older one. */
static int give_up(probe_measurement *m, probe_audience ears, int code, const char *command) {
    const probe_outcome outcome = {
        .exited = true, .exit_status = probe_exec_status(code), .unexecuted = strerror(code)};
    probe_measurement_unexecuted(m);
    probe_measurement_finish(m, probe_clock_mono_ns(), &outcome);
    probe_conclude_unexecuted(m, &ears, code, command);
    probe_measurement_close(m);
    return outcome.exit_status;
}

/* m: zeroes. */
static int measure(probe_measurement *m, const probe_options *options, const probe_limits *limits) {
    char helper[PATH_MAX];
    probe_task task;
    const probe_measurement_config config = configure(options);
    if (!probe_measurement_open(m, &config)) {
        probe_measurement_close(m);
        return stand_aside(options, limits, NULL);
    }
    probe_last_words words = {0};
    probe_task_prepare(&task, limits);
    probe_measurement_start(m);
    int refused = spawn(&task, m, options->command);
    if (refused != 0) {
        probe_measurement_close(m);
        probe_task_give_back(&task);
        char reason[160];
        (void)snprintf(reason, sizeof reason, "no process beside this one: %s", strerror(refused));
        return stand_aside(options, limits, reason);
    }
    probe_audience ears = probe_audience_choose(options);
    if (*task.exec_errno != 0) {
        return give_up(m, ears, *task.exec_errno, options->command[0]);
    }
    drop_inherited(m, &ears);
    probe_descriptors_raise();
    m->config.helper_path = find_helper(helper, sizeof helper) ? helper : NULL;
    probe_measurement_begin(m);
    int64_t end_ns = watch(m, &task, &ears, &words);
    if (*task.exec_errno != 0) { /* where the spawn came back before exec */
        return give_up(m, ears, *task.exec_errno, options->command[0]);
    }
    const probe_outcome outcome = outcome_of(task.status);
    probe_measurement_finish(m, end_ns, &outcome);
    probe_conclude(m, &ears, &words);
    probe_measurement_close(m);
    probe_task_exit_as(task.status);
}

static int run(const probe_options *options) {
    char reason[160];
    probe_limits limits;
    if (!probe_limits_begin(&limits, reason, sizeof reason)) {
        return stand_aside(options, &limits, reason);
    }
    if (probe_nextflow_measures_inside(options->command)) {
        return stand_aside(options, &limits, NULL);
    }
    /* Some 300 KiB, of which a short task touches little. Were it a part of this executable, a
     * process that may not have as much could not even begin. */
    void *m = mmap(NULL, sizeof(probe_measurement), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) {
        (void)snprintf(reason, sizeof reason, "no memory: %s", strerror(errno));
        return stand_aside(options, &limits, reason);
    }
    return measure(m, options, &limits);
}

static int check(const probe_options *options) {
    char text[PROBE_CHECK_TEXT_SIZE], helper[PATH_MAX]; /* on the stack: see run() */
    const probe_check_config config = {
        .proc_root = "/proc",
        .fs_root = "",
        .dev_root = "/dev",
        .workdir = options->workdir,
        .trace_file = options->trace_file,
        .copy_to = options->copy_to,
        .timeline = options->timeline,
        .helper_path = find_helper(helper, sizeof helper) ? helper : NULL,
        .nvml_library = options->nvml_library,
        .gpus = options->gpus,
        .interval_ns = options->interval_ns,
        .cgroup_mode = options->cgroup_mode,
    };
    probe_check_run(&config, options->json, text, sizeof text);
    return probe_say(1, text) ? 0 : EXIT_NOT_SAID;
}

int main(int argc, char **argv) {
    (void)argc;
    probe_descriptors_take_standard();
    probe_options options;
    probe_options_parse(&options, argv);
    switch (options.action) {
    case PROBE_SHOW_HELP:
        return probe_say(1, probe_help) ? 0 : EXIT_NOT_SAID;
    case PROBE_SHOW_VERSION:
        return probe_say(1, "gpu-probe " PROBE_VERSION "\n") ? 0 : EXIT_NOT_SAID;
    case PROBE_CHECK:
        return check(&options);
    case PROBE_USAGE_ERROR:
        (void)probe_say(2, "gpu-probe: ");
        (void)probe_say(2, options.error);
        (void)probe_say(2, "\n");
        return EXIT_OWN_ERROR;
    default:
        return run(&options);
    }
}
