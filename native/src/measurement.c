#include "measurement.h"

#include "clock.h"
#include <stdio.h>
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

void probe_measurement_open(probe_measurement *m, const probe_measurement_config *config) {
    m->config = *config;
    m->gpu = (probe_gpu_reader){.channel = -1};
    m->target.directory = -1;
    m->file_error = (probe_error){0};
    m->trace = (probe_trace){0};
    m->json_length = 0;
    probe_trace_make_run_id(m->trace.run_id);
    if (config->workdir != NULL || config->trace_file != NULL) {
        (void)probe_trace_file_open(&m->target, config->workdir, config->trace_file,
                                    &m->file_error);
    }
    const probe_sampler_config sampler = {
        .proc_root = "/proc",
        .fs_root = "",
        .scope = config->scope,
        .interval_ns = config->interval_ns,
        .budget_ppm = config->budget_ppm,
        .max_descriptors = config->max_descriptors,
    };
    probe_sampler_open(&m->sampler, &sampler);
}

void probe_measurement_start(probe_measurement *m) {
    probe_sampler_start(&m->sampler, probe_clock_mono_ns(), probe_clock_wall_ms());
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
    m->next_checkpoint_ns = m->sampler.next_ns;
}

int64_t probe_measurement_next_ns(const probe_measurement *m) {
    return m->sampler.next_ns < m->next_checkpoint_ns ? m->sampler.next_ns : m->next_checkpoint_ns;
}

void probe_measurement_step(probe_measurement *m) {
    int64_t now = probe_clock_mono_ns();
    if (now >= m->sampler.next_ns) {
        probe_sampler_step(&m->sampler, now);
    }
    if (now >= m->next_checkpoint_ns) {
        probe_measurement_checkpoint(m);
    }
}

static const char *gpu_note(const probe_gpu_reader *gpu) {
    if (gpu->note[0] != '\0') {
        return gpu->note;
    }
    if (gpu->any) {
        return gpu->last.note;
    }
    return gpu->pid != 0 ? "gpu: the driver gave no reading before the task ended" : NULL;
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
    if (!trace->final) { /* what the group showed before the end is not to be overwritten */
        probe_cgroup_step(&m->sampler.cgroup);
    }
    probe_cgroup_get(&m->sampler.cgroup, &trace->cgroup);
    trace->gpu = m->gpu.any ? &m->gpu.last : NULL;
    trace->note_count = 0;
    probe_trace_note(trace, trace->final || m->gpu.any ? gpu_note(&m->gpu) : m->gpu.note);
    trace->cgroup_shared = m->sampler.cgroup_shared;
    if (trace->cgroup.valid != 0 && trace->cgroup_shared) {
        probe_trace_note(
            trace, "cgroup: the group is not the task's own; its memory figures include others'");
    }
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
    probe_error error = {0};
    if (probe_trace_to_json(trace, m->json, sizeof m->json, &m->json_length) != PROBE_OK) {
        m->json_length = 0;
        (void)probe_fail(&m->file_error, PROBE_E_OVERFLOW, 0, "the trace does not fit its buffer");
    } else if (m->target.directory >= 0 &&
               probe_trace_file_write(&m->target, m->json, m->json_length, &error) != PROBE_OK) {
        m->file_error = error;
    } else if (m->target.directory >= 0) {
        m->file_error = (probe_error){0}; /* an earlier failure has passed */
    }
}

void probe_measurement_checkpoint(probe_measurement *m) {
    int64_t now = probe_clock_mono_ns();
    write_trace(m, now);
    m->next_checkpoint_ns = m->sampler.start_ns + checkpoint_after(now - m->sampler.start_ns);
}

void probe_measurement_end(probe_measurement *m) {
    probe_sampler_step_last(&m->sampler);
    probe_gpu_finish(&m->gpu, gpu_wait_ms);
}

void probe_measurement_finish(probe_measurement *m, int64_t end_ns, const probe_outcome *outcome) {
    m->trace.final = true;
    m->trace.exited = outcome->exited;
    m->trace.exit_status = outcome->exit_status;
    m->trace.signalled = outcome->signalled;
    m->trace.signal = outcome->signal;
    write_trace(m, end_ns);
}

void probe_measurement_close(probe_measurement *m) {
    probe_gpu_close(&m->gpu);
    probe_sampler_close(&m->sampler);
    probe_trace_file_close(&m->target);
}
