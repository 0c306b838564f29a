#include "measurement.h"

#include "checkpoint.h"
#include "clock.h"
#include "publish.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a finished task may be kept waiting for the driver's last samples. */
static const int gpu_wait_ms = 200;

/* And a task that has not started for the place of its trace. */
static const int place_wait_ms = 1000;

static void open_timeline(probe_measurement *m) {
    if (!m->config.timeline || m->place.file.directory < 0) {
        return;
    }
    m->timeline = probe_timeline_feed_open();
    if (m->timeline == NULL) {
        (void)snprintf(m->timeline_note, sizeof m->timeline_note, "timeline: no memory for it");
    }
}

static bool is_wrapper(const probe_measurement *m) {
    return m->config.scope == PROBE_SCOPE_DESCENDANTS;
}

/* The current directory answers, or the task would not have come so far. Any other may not, and a
 * child looks at it. */
static bool looks_apart(const probe_measurement *m) {
    const probe_measurement_config *config = &m->config;
    return is_wrapper(m) && (config->trace_file != NULL || strcmp(config->workdir, ".") != 0);
}

static pid_t open_place(probe_measurement *m) {
    const probe_trace_place_config place = {
        .workdir = m->config.workdir,
        .trace_file = m->config.trace_file,
        .run_id = m->trace.run_id,
        .proc_root = "/proc",
        .pid = getpid(),
        .may_nest = is_wrapper(m),
    };
    pid_t left = 0;
    probe_trace_aside_none(&m->copy);
    probe_trace_aside_none(&m->checkpoints);
    if (looks_apart(m)) {
        probe_trace_place_open_within(&m->place, &place, place_wait_ms, &left);
    } else {
        probe_trace_place_open(&m->place, &place);
    }
    m->file_error = m->place.error;
    m->trace.job = &m->place.job;
    m->trace.within = m->place.within;
    probe_trace_writer_open(&m->writer, probe_trace_place_deliver, m->config.start_writer);
    if (m->config.copy_to != NULL) {
        probe_trace_aside_copy(&m->copy, &place, m->config.copy_to, m->config.start_writer);
    }
    if (m->place.uploads) {
        probe_trace_aside_checkpoints(&m->checkpoints, &place, m->config.start_writer);
    }
    return left;
}

bool probe_measurement_open(probe_measurement *m, const probe_measurement_config *config) {
    m->config = *config;
    probe_gpu_none(&m->gpu);
    m->file_error = (probe_error){0};
    m->trace = (probe_trace){0};
    m->json_length = 0;
    m->timeline = NULL;
    m->timeline_note[0] = '\0';
    m->own.active = false;
    m->awaited = m->abandoned = false;
    probe_trace_make_run_id(m->trace.run_id);
    m->random = strtoull(m->trace.run_id + 16, NULL, 16);
    pid_t left = open_place(m);
    if (m->place.nested) {
        return false;
    }
    if (config->cgroup_mode == PROBE_CGROUP_OWN) {
        probe_cgroup_own_open(&m->own, "/proc", "");
    }
    const probe_sampler_config sampler = {
        .proc_root = "/proc",
        .fs_root = "",
        .scope = config->scope,
        .interval_ns = config->interval_ns,
        .cgroup_mode = config->cgroup_mode,
        .own_group = m->own.active ? &m->own.paths : NULL,
        .budget_ppm = config->budget_ppm,
        .max_descriptors = config->max_descriptors,
    };
    probe_sampler_open(&m->sampler, &sampler);
    m->sampler.excluded[PROBE_EXCLUDED_LATE] = left;
    m->oom_kills = m->sampler.cgroup.last.value[PROBE_CG_MEMORY_OOM_KILLS];
    return true;
}

void probe_measurement_start(probe_measurement *m) {
    probe_sampler_start(&m->sampler, probe_clock_mono_ns(), probe_clock_wall_ms());
}

/* The command wrote one byte for each group before it was executed: that is ours, not the task's.
 */
static void exclude_entering(probe_measurement *m, const int errors[PROBE_OWN_COUNT]) {
    probe_proc_io io = {0};
    for (size_t i = 0; i < PROBE_OWN_COUNT; i++) {
        io.syscw += m->own.procs[i] >= 0;
        io.wchar += m->own.procs[i] >= 0 && errors[i] == 0;
    }
    const struct rusage none = {0};
    probe_usage_exclude(&m->sampler.usage, &none, &io);
}

void probe_measurement_entered(probe_measurement *m, const int errors[PROBE_OWN_COUNT]) {
    if (m->own.active) {
        exclude_entering(m, errors);
    }
    if (m->own.active && !probe_cgroup_own_entered(&m->own, errors)) {
        m->sampler.cgroup_omitted = true;
    }
}

static void settle(probe_measurement *m) {
    probe_sampler_settle(&m->sampler);
    if (!looks_apart(m)) {
        probe_trace_place_settle(&m->place);
    }
    if (!m->place.may_hang) {
        m->writer.start = NULL; /* own hands do */
    }
    m->trace.workdir = m->place.workdir;
    probe_trace_place_sign(&m->place, &m->sampler.host);
    probe_trace_aside_sign(&m->copy, &m->sampler.host);
    probe_trace_aside_sign(&m->checkpoints, &m->sampler.host);
}

void probe_measurement_begin(probe_measurement *m) {
    probe_sampler_step(&m->sampler, probe_clock_mono_ns());
    settle(m);
    (void)probe_trace_writer_start(&m->writer, &m->place);
    m->sampler.excluded[PROBE_EXCLUDED_WRITER] = m->writer.pid;
    if (m->config.helper_path != NULL) {
        const probe_gpu_config gpu = {
            .helper_path = m->config.helper_path,
            .nvml_library = m->config.nvml_library,
            .gpus = m->config.gpus,
            .dev_root = "/dev",
            .start_ns = m->sampler.start_ns,
            .interval_ns = m->config.interval_ns,
        };
        probe_gpu_open(&m->gpu, &gpu);
        m->sampler.excluded[PROBE_EXCLUDED_HELPER] = m->gpu.pid;
    }
    open_timeline(m);
    m->next_checkpoint_ns = m->sampler.next_ns;
}

int64_t probe_measurement_next_ns(const probe_measurement *m) {
    return m->sampler.next_ns < m->next_checkpoint_ns ? m->sampler.next_ns : m->next_checkpoint_ns;
}

static void sample(probe_measurement *m, int64_t now_ns, bool last) {
    if (last) {
        probe_sampler_end(&m->sampler);
    } else {
        probe_sampler_step(&m->sampler, now_ns);
    }
    if (m->timeline == NULL) {
        return;
    }
    int64_t elapsed_ns = now_ns - m->sampler.start_ns;
    probe_timeline_feed_sample(m->timeline, &m->sampler, elapsed_ns);
    if (last) {
        return; /* the exact CPU time and the GPU's last reading are to come */
    }
    probe_timeline_feed_cpu(m->timeline, elapsed_ns,
                            probe_usage_read_cpu(&m->sampler.usage, &m->sampler.tree), false);
    probe_gpu_read(&m->gpu);
    if (m->gpu.any) {
        probe_timeline_feed_gpu(m->timeline, &m->gpu.last);
    }
}

void probe_measurement_step(probe_measurement *m) {
    int64_t now = probe_clock_mono_ns();
    if (now >= m->sampler.next_ns) {
        sample(m, now, false);
    }
    /* After one process of the group, the kernel may kill us. */
    uint64_t oom_kills = m->sampler.cgroup.last.value[PROBE_CG_MEMORY_OOM_KILLS];
    bool killed = oom_kills > m->oom_kills;
    m->oom_kills = oom_kills;
    if (killed || now >= m->next_checkpoint_ns) {
        probe_measurement_checkpoint(m);
    }
}

void probe_measurement_checkpoint(probe_measurement *m) {
    int64_t now = probe_clock_mono_ns();
    probe_publish(m, now);
    m->next_checkpoint_ns =
        m->sampler.start_ns +
        probe_checkpoint_after(now - m->sampler.start_ns, probe_checkpoint_random(&m->random));
}

void probe_measurement_unexecuted(probe_measurement *m) {
    if (m->trace.workdir == NULL) {
        settle(m);
    }
    probe_gpu_close(&m->gpu);
    probe_gpu_none(&m->gpu);
    m->sampler.cgroup_omitted = true;
    m->sampler.cgroup_shared = NULL;
}

void probe_measurement_end(probe_measurement *m) {
    sample(m, probe_clock_mono_ns(), true);
    probe_gpu_finish(&m->gpu, gpu_wait_ms);
}

static void close_own(probe_measurement *m) {
    if (m->own.active) {
        probe_cgroup_own_close(&m->own);
    }
}

void probe_measurement_finish(probe_measurement *m, int64_t end_ns, const probe_outcome *outcome) {
    m->trace.final = true;
    m->trace.exited = outcome->exited;
    m->trace.exit_status = outcome->exit_status;
    m->trace.signalled = outcome->signalled;
    m->trace.signal = outcome->signal;
    m->trace.unexecuted = outcome->unexecuted != NULL;
    if (m->trace.unexecuted) {
        (void)snprintf(m->unexecuted_note, sizeof m->unexecuted_note,
                       "the command could not be executed: %s", outcome->unexecuted);
    }
    close_own(m); /* before the trace, which tells what went wrong */
    probe_publish(m, end_ns);
    if (is_wrapper(m) && m->file_error.status != PROBE_OK && m->json_length > 0) {
        probe_publish_rescue(m);
    }
}

bool probe_measurement_owns(const probe_measurement *m, pid_t pid) {
    for (size_t i = 0; pid > 0 && i < PROBE_EXCLUDED; i++) {
        if (m->sampler.excluded[i] == pid) {
            return true;
        }
    }
    return false;
}

static void lose(probe_trace_writer *writer, pid_t pid) {
    if (writer->pid == pid) {
        probe_trace_writer_lost(writer);
        writer->pid = 0;
    }
}

void probe_measurement_reaped(probe_measurement *m, pid_t pid, int status,
                              const struct rusage *usage, const probe_proc_io *io) {
    probe_usage_exclude(&m->sampler.usage, usage, io);
    for (size_t i = 0; i < PROBE_EXCLUDED; i++) {
        if (m->sampler.excluded[i] == pid) {
            m->sampler.excluded[i] = 0;
        }
    }
    if (pid == m->gpu.pid) {
        m->gpu.pid = 0;
        if (WIFSIGNALED(status)) {
            (void)snprintf(
                m->gpu.ended, sizeof m->gpu.ended,
                "the NVML helper ended by signal %d: there are no GPU figures after that",
                WTERMSIG(status));
        }
    }
    lose(&m->writer, pid);
    lose(&m->copy.writer, pid);
    lose(&m->checkpoints.writer, pid);
}

void probe_measurement_close(probe_measurement *m) {
    close_own(m);
    probe_gpu_close(&m->gpu);
    probe_timeline_feed_close(m->timeline);
    m->timeline = NULL;
    probe_sampler_close(&m->sampler);
    bool idle = probe_trace_writer_close(&m->writer);
    if (idle) {
        probe_trace_place_close(&m->place);
    }
    bool copied = probe_trace_aside_close(&m->copy);
    bool kept = probe_trace_aside_close(&m->checkpoints);
    m->abandoned = !idle || !copied || !kept;
}
