#include "measurement.h"

#include "clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A SIGKILL leaves no chance for a last word: the trace is replaced often at first, then every half
 * minute. */
static int64_t checkpoint_after(int64_t elapsed_ns) {
    static const int64_t early_s[] = {1, 2, 5, 10, 20, 30};
    for (size_t i = 0; i < sizeof early_s / sizeof early_s[0]; i++) {
        if (early_s[i] * PROBE_NS_PER_S > elapsed_ns) {
            return early_s[i] * PROBE_NS_PER_S;
        }
    }
    return (elapsed_ns / (30 * PROBE_NS_PER_S) + 1) * 30 * PROBE_NS_PER_S;
}

/* How long a finished task may be kept waiting for the driver's last samples. */
static const int gpu_wait_ms = 200;

static void open_timeline(probe_measurement *m) {
    if (!m->config.timeline || m->target.directory < 0) {
        return;
    }
    if (probe_trace_file_beside(&m->target, m->config.trace_file != NULL, &m->timeline_target) !=
        PROBE_OK) {
        (void)snprintf(m->timeline_note, sizeof m->timeline_note,
                       "timeline: the name of its file is too long");
    } else if ((m->timeline = probe_timeline_feed_open()) == NULL) {
        (void)snprintf(m->timeline_note, sizeof m->timeline_note, "timeline: no memory for it");
    }
}

void probe_measurement_open(probe_measurement *m, const probe_measurement_config *config) {
    m->config = *config;
    m->gpu = (probe_gpu_reader){.channel = -1};
    m->target.directory = -1;
    m->file_error = (probe_error){0};
    m->trace = (probe_trace){0};
    m->json_length = 0;
    m->timeline = NULL;
    m->timeline_note[0] = '\0';
    probe_trace_make_run_id(m->trace.run_id);
    if (config->workdir != NULL || config->trace_file != NULL) {
        (void)probe_trace_file_open(&m->target, config->workdir, config->trace_file,
                                    &m->file_error);
    }
    m->own.active = false;
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

void probe_measurement_begin(probe_measurement *m) {
    probe_sampler_step(&m->sampler, probe_clock_mono_ns());
    probe_sampler_settle(&m->sampler);
    if (m->config.helper_path != NULL) {
        const probe_gpu_config gpu = {
            .helper_path = m->config.helper_path,
            .nvml_library = m->config.nvml_library,
            .dev_root = "/dev",
            .start_ns = m->sampler.start_ns,
            .interval_ns = m->config.interval_ns,
        };
        probe_gpu_open(&m->gpu, &gpu);
        m->sampler.excluded = m->gpu.pid;
    }
    if (m->target.directory >= 0) {
        (void)probe_trace_file_settle(&m->target, &m->file_error);
    }
    open_timeline(m); /* beside the trace, so after its place is settled */
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
    if (now >= m->next_checkpoint_ns) {
        probe_measurement_checkpoint(m);
    }
}

/* Why there are no GPU figures, or fewer; empty: nothing to say. */
static const char *gpu_note(const probe_gpu_reader *gpu, bool final) {
    if (gpu->note[0] != '\0') {
        return gpu->note;
    }
    if (!gpu->any) {
        return final && gpu->page != NULL ? "the driver gave no reading before the task ended" : "";
    }
    bool cut_short = final && !gpu->last.final && gpu->last.note[0] == '\0';
    return cut_short
               ? "the driver did not answer at the end: the GPU figures are of the time before"
               : gpu->last.note;
}

static void add_cgroup_notes(probe_measurement *m) {
    const char *why = m->sampler.cgroup_shared;
    if (m->config.cgroup_mode == PROBE_CGROUP_OWN) {
        for (size_t i = 0; i < PROBE_OWN_NOTES; i++) {
            probe_trace_note(&m->trace, m->own.notes[i]);
        }
    }
    if (why == NULL) {
        return;
    }
    (void)snprintf(
        m->cgroup_note, sizeof m->cgroup_note,
        m->sampler.cgroup_omitted
            ? "cgroup: left out, because the group is not the task's own (%s); gpu-probe "
              "--cgroup own gives the task one, --cgroup shared writes this one"
            : "cgroup: the group is not the task's own (%s); its memory figures include "
              "others'",
        why);
    probe_trace_note(&m->trace, m->cgroup_note);
}

/* Brings the timeline up to date with the trace's figures and writes it. The text's memory is given
 * back at once: it is needed every half minute. */
static void write_timeline(probe_measurement *m, int64_t elapsed_ns) {
    probe_timeline_feed_cpu(m->timeline, elapsed_ns, m->trace.proc.usage.cpu_usec, m->trace.final);
    if (m->gpu.any) {
        probe_timeline_feed_gpu(m->timeline, &m->gpu.last);
    }
    const probe_timeline *timeline = &m->timeline->timeline;
    const probe_timeline_origin origin = {
        .run_id = m->trace.run_id, .start_ms = m->trace.start_ms, .gpu = m->trace.gpu};
    size_t length = 0, size = probe_timeline_json_size(timeline);
    probe_error error = {0};
    char *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) {
        (void)probe_fail(&error, PROBE_E_SYSCALL, errno, "no memory for its text");
    } else {
        if (probe_timeline_to_json(timeline, &origin, text, size, &length) != PROBE_OK) {
            (void)probe_fail(&error, PROBE_E_OVERFLOW, 0, "it does not fit its buffer");
        } else {
            (void)probe_trace_file_write(&m->timeline_target, text, length, &error);
        }
        (void)munmap(text, size);
    }
    m->timeline_note[0] = '\0';
    if (error.status != PROBE_OK) {
        (void)snprintf(m->timeline_note, sizeof m->timeline_note, "timeline: not written: %s",
                       error.sys_errno != 0 ? strerror(error.sys_errno) : error.what);
    }
}

/* Writes the trace as it is filled. */
static void write_file(probe_measurement *m) {
    probe_error error = {0};
    if (probe_trace_to_json(&m->trace, m->json, sizeof m->json, &m->json_length) != PROBE_OK) {
        m->json_length = 0;
        (void)probe_fail(&m->file_error, PROBE_E_OVERFLOW, 0, "the trace does not fit its buffer");
    } else if (m->target.directory >= 0 &&
               probe_trace_file_write(&m->target, m->json, m->json_length, &error) != PROBE_OK) {
        m->file_error = error;
    } else if (m->target.directory >= 0) {
        m->file_error = (probe_error){0}; /* an earlier failure has passed */
    }
}

/* Fills the trace with the figures as of now_ns and writes it. */
static void write_trace(probe_measurement *m, int64_t now_ns) {
    probe_trace *trace = &m->trace;
    probe_gpu_read(&m->gpu);
    trace->pid = getpid();
    trace->start_ms = m->sampler.start_wall_ms;
    trace->written_ms = probe_clock_wall_ms();
    trace->realtime_ns = now_ns - m->sampler.start_ns;
    trace->interval_ms = m->config.interval_ns / PROBE_NS_PER_MS;
    trace->host = &m->sampler.host;
    probe_sampler_summarize(&m->sampler, now_ns, &trace->proc);
    trace->samples = m->sampler.samples;
    trace->own_cpu_usec = probe_clock_thread_ns() / 1000;
    trace->cgroup = (probe_cgroup_reading){0};
    if (!m->sampler.cgroup_omitted) {
        if (!trace->final) { /* what the group showed before the end is not to be overwritten */
            probe_cgroup_step(&m->sampler.cgroup);
        }
        probe_cgroup_get(&m->sampler.cgroup, &trace->cgroup);
    }
    trace->gpu = m->gpu.any ? &m->gpu.last : NULL;
    trace->note_count = 0;
    trace->gpu_note = gpu_note(&m->gpu, trace->final);
    probe_trace_note(trace, trace->gpu_note);
    trace->cgroup_shared = m->sampler.cgroup_shared != NULL;
    add_cgroup_notes(m);
    if (m->sampler.tree.truncated) {
        probe_trace_note(trace,
                         "proc: more than 4096 processes at once: the others were not sampled");
    }
    if (trace->final && trace->exited + trace->signalled > 0 && trace->proc.usage.alive > 0) {
        (void)snprintf(m->alive_note, sizeof m->alive_note,
                       "proc: %u processes outlived the task; they count with what they had used "
                       "when it ended",
                       (unsigned int)trace->proc.usage.alive);
        probe_trace_note(trace, m->alive_note);
    }
    if (m->timeline != NULL && (trace->final || trace->realtime_ns >= PROBE_NS_PER_S)) {
        write_timeline(m, trace->realtime_ns);
    }
    probe_trace_note(trace, m->timeline_note);
    write_file(m);
}

void probe_measurement_checkpoint(probe_measurement *m) {
    int64_t now = probe_clock_mono_ns();
    write_trace(m, now);
    m->next_checkpoint_ns = m->sampler.start_ns + checkpoint_after(now - m->sampler.start_ns);
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
    close_own(m); /* before the trace, which tells what went wrong */
    write_trace(m, end_ns);
}

void probe_measurement_close(probe_measurement *m) {
    close_own(m);
    probe_gpu_close(&m->gpu);
    probe_timeline_feed_close(m->timeline);
    m->timeline = NULL;
    probe_sampler_close(&m->sampler);
    probe_trace_file_close(&m->target);
}
