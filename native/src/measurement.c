#include "measurement.h"

#include "checkpoint.h"
#include "clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How long a finished task may be kept waiting for the driver's last samples. */
static const int gpu_wait_ms = 200;

/* How long for a file system that does not answer. */
static const int file_wait_ms = 2000;

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

static void open_place(probe_measurement *m) {
    const probe_trace_place_config place = {
        .workdir = m->config.workdir,
        .trace_file = m->config.trace_file,
        .copy_to = m->config.copy_to,
        .run_id = m->trace.run_id,
        .proc_root = "/proc",
        .may_nest = is_wrapper(m),
    };
    probe_trace_place_open(&m->place, &place);
    m->file_error = m->place.error;
    m->trace.job = &m->place.job;
    m->trace.within = m->place.within;
    probe_trace_writer_open(&m->writer, probe_trace_place_deliver, &m->place, false);
}

bool probe_measurement_open(probe_measurement *m, const probe_measurement_config *config) {
    m->config = *config;
    m->gpu = (probe_gpu_reader){.channel = -1};
    m->file_error = (probe_error){0};
    m->trace = (probe_trace){0};
    m->json_length = 0;
    m->timeline = NULL;
    m->timeline_note[0] = '\0';
    m->own.active = false;
    probe_trace_make_run_id(m->trace.run_id);
    m->random = strtoull(m->trace.run_id + 16, NULL, 16);
    open_place(m);
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

void probe_measurement_begin(probe_measurement *m) {
    probe_sampler_step(&m->sampler, probe_clock_mono_ns());
    probe_sampler_settle(&m->sampler);
    if (is_wrapper(m) && probe_trace_place_may_hang(&m->place)) {
        probe_trace_writer_open(&m->writer, probe_trace_place_deliver, &m->place, true);
        m->sampler.excluded[PROBE_EXCLUDED_WRITER] = m->writer.pid;
    }
    if (m->config.helper_path != NULL) {
        const probe_gpu_config gpu = {
            .helper_path = m->config.helper_path,
            .nvml_library = m->config.nvml_library,
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

static void note_timeline(probe_measurement *m, const probe_error *error) {
    m->timeline_note[0] = '\0';
    if (error->status != PROBE_OK) {
        (void)snprintf(m->timeline_note, sizeof m->timeline_note, "timeline: not written: %s",
                       error->sys_errno != 0 ? strerror(error->sys_errno) : error->what);
    }
}

/* Brings the timeline up to date with the trace's figures, and the text of it into the parcel, to
 * be unmapped: it is needed every half minute. Where it can be written at once it is, so that the
 * trace can tell of a failure. Returns the size of the mapping. */
static size_t pack_timeline(probe_measurement *m, int64_t elapsed_ns, probe_trace_parcel *parcel) {
    probe_timeline_feed_cpu(m->timeline, elapsed_ns, m->trace.proc.usage.cpu_usec, m->trace.final);
    if (m->gpu.any) {
        probe_timeline_feed_gpu(m->timeline, &m->gpu.last);
    }
    const probe_timeline *timeline = &m->timeline->timeline;
    const probe_timeline_origin origin = {
        .run_id = m->trace.run_id, .start_ms = m->trace.start_ms, .gpu = m->trace.gpu};
    size_t length = 0, size = probe_timeline_json_size(timeline);
    probe_error error = m->place.timeline_error;
    char *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) {
        error = (probe_error){.status = PROBE_E_SYSCALL, .what = "no memory for its text"};
        size = 0;
    } else if (probe_timeline_to_json(timeline, &origin, text, size, &length) != PROBE_OK) {
        error = (probe_error){.status = PROBE_E_OVERFLOW, .what = "it does not fit its buffer"};
        (void)munmap(text, size);
        size = 0;
    } else {
        parcel->timeline = text;
        parcel->timeline_length = length;
        if (m->writer.desk == NULL) {
            const probe_trace_parcel alone = {
                .timeline = text, .timeline_length = length, .final = parcel->final};
            (void)probe_trace_writer_send(&m->writer, &m->place, &alone, 0);
            error = m->place.timeline_error;
            parcel->timeline_length = 0;
        }
    }
    note_timeline(m, &error);
    return size;
}

/* Writes the trace as it is filled. */
static void send_parcel(probe_measurement *m, probe_trace_parcel *parcel) {
    if (probe_trace_to_json(&m->trace, m->json, sizeof m->json, &m->json_length) != PROBE_OK) {
        m->json_length = 0;
        (void)probe_fail(&m->file_error, PROBE_E_OVERFLOW, 0, "the trace does not fit its buffer");
        return;
    }
    if (!probe_trace_place_any(&m->place)) {
        return;
    }
    parcel->trace = m->json;
    parcel->trace_length = m->json_length;
    bool answered =
        probe_trace_writer_send(&m->writer, &m->place, parcel, parcel->final ? file_wait_ms : 0);
    m->file_error = m->place.error;
    if (parcel->final && !answered) {
        m->file_error = (probe_error){0};
        (void)probe_fail_detail(&m->file_error, PROBE_E_SYSCALL, ETIMEDOUT,
                                "the trace cannot be written", m->place.file.path);
        m->place.copy_error = m->file_error;
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
    probe_trace_parcel parcel = {.final = trace->final};
    size_t mapped = 0;
    if (m->timeline != NULL && (trace->final || trace->realtime_ns >= PROBE_NS_PER_S)) {
        mapped = pack_timeline(m, trace->realtime_ns, &parcel);
    }
    probe_trace_note(trace, m->timeline_note);
    char *text = (char *)parcel.timeline;
    parcel.timeline = parcel.timeline_length > 0 ? text : NULL;
    send_parcel(m, &parcel);
    if (mapped > 0) {
        (void)munmap(text, mapped);
    }
}

void probe_measurement_checkpoint(probe_measurement *m) {
    int64_t now = probe_clock_mono_ns();
    write_trace(m, now);
    m->next_checkpoint_ns =
        m->sampler.start_ns +
        probe_checkpoint_after(now - m->sampler.start_ns, probe_checkpoint_random(&m->random));
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
    if (is_wrapper(m) && m->file_error.status != PROBE_OK && m->json_length > 0) {
        probe_trace_place_rescue(&m->place, m->json, m->json_length);
    }
}

bool probe_measurement_owns(const probe_measurement *m, pid_t pid) {
    return pid > 0 && (pid == m->gpu.pid || pid == m->writer.pid);
}

void probe_measurement_reaped(probe_measurement *m, pid_t pid, const struct rusage *usage,
                              const probe_proc_io *io) {
    probe_usage_exclude(&m->sampler.usage, usage, io);
    if (pid == m->gpu.pid) {
        m->gpu.pid = 0;
        m->sampler.excluded[PROBE_EXCLUDED_HELPER] = 0;
    } else {
        probe_trace_writer_lost(&m->writer);
        m->writer.pid = 0;
        m->sampler.excluded[PROBE_EXCLUDED_WRITER] = 0;
    }
}

void probe_measurement_close(probe_measurement *m) {
    close_own(m);
    probe_gpu_close(&m->gpu);
    probe_timeline_feed_close(m->timeline);
    m->timeline = NULL;
    probe_sampler_close(&m->sampler);
    probe_trace_writer_close(&m->writer);
    probe_trace_place_close(&m->place);
}
