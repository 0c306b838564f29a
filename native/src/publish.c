#include "publish.h"

#include "clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How long a finished task may be kept waiting for a file system that does not answer. */
static const int file_wait_ms = 2000;

/* And for the second one, if that answers neither. */
static const int rescue_wait_ms = 1000;

/* Why there are no GPU figures, or fewer; empty: nothing to say. */
static const char *gpu_note(const probe_gpu_reader *gpu, bool final) {
    if (gpu->note[0] != '\0') {
        return gpu->note;
    }
    if (gpu->ended[0] != '\0' && !(gpu->any && gpu->last.note[0] != '\0')) {
        return gpu->ended;
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

/* Whether this trace is a checkpoint that should not be an upload. */
static bool keeps_aside(probe_measurement *m) {
    return !m->trace.final && probe_trace_aside_works(&m->checkpoints);
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
        if (m->writer.start == NULL && !keeps_aside(m)) {
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

static void send_to_place(probe_measurement *m, const probe_trace_parcel *parcel, int wait_ms) {
    bool answered = probe_trace_writer_send(&m->writer, &m->place, parcel, wait_ms);
    m->file_error = m->place.error;
    if (wait_ms > 0 && !answered) {
        m->file_error = (probe_error){0};
        (void)probe_fail_detail(&m->file_error, PROBE_E_SYSCALL, ETIMEDOUT,
                                "the trace cannot be written", m->place.file.path);
    }
}

static int left_ms(int64_t deadline_ns) {
    int64_t left_ns = deadline_ns - probe_clock_mono_ns();
    return left_ns > 0 ? (int)(left_ns / PROBE_NS_PER_MS) + 1 : 1;
}

/* To the place and beside it, all in the same time: the copy's writer is at work while the place is
 * waited for. */
static void deliver(probe_measurement *m, const probe_trace_parcel *parcel) {
    int wait_ms = parcel->final || m->awaited ? file_wait_ms : 0;
    int64_t deadline_ns = probe_clock_mono_ns() + wait_ms * PROBE_NS_PER_MS;
    bool handed = probe_trace_aside_send(&m->copy, parcel, 0);
    if (keeps_aside(m)) {
        (void)probe_trace_aside_send(&m->checkpoints, parcel, 0);
    } else if (m->place.file.directory >= 0) {
        send_to_place(m, parcel, wait_ms);
    }
    if (wait_ms > 0 && handed) {
        probe_trace_aside_settle(&m->copy, left_ms(deadline_ns));
    } else if (wait_ms > 0) {
        (void)probe_trace_aside_send(&m->copy, parcel, left_ms(deadline_ns));
    }
    bool any = m->checkpoints.wanted &&
               (m->checkpoints.writer.busy || m->checkpoints.place.file.path[0] != '\0');
    if (parcel->final && any && m->file_error.status == PROBE_OK) {
        (void)probe_trace_aside_send(&m->checkpoints, parcel, left_ms(deadline_ns));
    }
    m->sampler.excluded[PROBE_EXCLUDED_WRITER] = m->writer.pid;
    m->sampler.excluded[PROBE_EXCLUDED_COPY] = m->copy.writer.pid;
    m->sampler.excluded[PROBE_EXCLUDED_CHECKPOINTS] = m->checkpoints.writer.pid;
}

/* Writes the trace as it is filled. */
static void send_parcel(probe_measurement *m, probe_trace_parcel *parcel) {
    if (probe_trace_to_json(&m->trace, m->json, sizeof m->json, &m->json_length) != PROBE_OK) {
        m->json_length = 0;
        (void)probe_fail(&m->file_error, PROBE_E_OVERFLOW, 0, "the trace does not fit its buffer");
        return;
    }
    parcel->trace = m->json;
    parcel->trace_length = m->json_length;
    deliver(m, parcel);
}

/* Fills the trace with the figures as of now_ns. */
static void fill(probe_measurement *m, int64_t now_ns) {
    probe_trace *trace = &m->trace;
    probe_gpu_read(&m->gpu);
    trace->pid = getpid();
    trace->start_ms = m->sampler.start_wall_ms;
    trace->written_ms = probe_clock_wall_ms();
    trace->realtime_ns = now_ns - m->sampler.start_ns;
    trace->interval_ms = m->config.interval_ns / PROBE_NS_PER_MS;
    trace->host = &m->sampler.host;
    if (trace->unexecuted) { /* what the attempt cost is not the command's */
        trace->proc = (probe_proc_block){.realtime_ms = trace->realtime_ns / PROBE_NS_PER_MS,
                                         .io_valid = true};
    } else {
        probe_sampler_summarize(&m->sampler, now_ns, &trace->proc);
    }
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
    trace->cgroup_shared = m->sampler.cgroup_shared != NULL;
}

static void add_notes(probe_measurement *m) {
    probe_trace *trace = &m->trace;
    trace->note_count = 0;
    probe_trace_note(trace, trace->unexecuted ? m->unexecuted_note : NULL);
    trace->gpu_note = gpu_note(&m->gpu, trace->final);
    probe_trace_note(trace, trace->gpu_note);
    probe_trace_note(trace, m->gpu.any ? m->gpu.last.scope_note : NULL);
    add_cgroup_notes(m);
    if (m->sampler.foreign_numbers) {
        probe_trace_note(trace,
                         "proc: /proc is another PID namespace's: no process of the task can "
                         "be looked at, and what system calls tell remains; mount a /proc of "
                         "this namespace (unshare --mount-proc)");
    }
    if (m->sampler.tree.truncated) {
        probe_trace_note(trace,
                         "proc: more than 4096 processes at once: the others were not sampled");
    }
    if (trace->final && trace->exited + trace->signalled > 0 && trace->proc.usage.alive > 0) {
        (void)snprintf(m->alive_note, sizeof m->alive_note,
                       trace->proc.usage.alive == 1
                           ? "proc: %u process outlived the task; it counts with what it had used "
                             "when the task ended"
                           : "proc: %u processes outlived the task; they count with what they had "
                             "used when the task ended",
                       (unsigned int)trace->proc.usage.alive);
        probe_trace_note(trace, m->alive_note);
    }
}

void probe_publish(probe_measurement *m, int64_t now_ns) {
    const probe_trace *trace = &m->trace;
    fill(m, now_ns);
    add_notes(m);
    probe_trace_parcel parcel = {.final = trace->final};
    size_t mapped = 0;
    if (m->timeline != NULL && (trace->final || trace->realtime_ns >= PROBE_NS_PER_S)) {
        mapped = pack_timeline(m, trace->realtime_ns, &parcel);
    }
    probe_trace_note(&m->trace, m->timeline_note);
    char *text = (char *)parcel.timeline;
    parcel.timeline = parcel.timeline_length > 0 ? text : NULL;
    send_parcel(m, &parcel);
    if (mapped > 0) {
        (void)munmap(text, mapped);
    }
}

/* By a process of its own, whatever the file system: to find out which it is may hang as well. */
void probe_publish_rescue(probe_measurement *m) {
    probe_trace_place *place = &m->place;
    const probe_trace_place *copy = &m->copy.place;
    if (m->copy.wanted && copy->written && copy->error.status == PROBE_OK) {
        memcpy(place->elsewhere, copy->file.path, sizeof place->elsewhere);
        return;
    }
    const probe_trace_parcel parcel = {
        .trace = m->json, .trace_length = m->json_length, .final = true};
    probe_trace_writer rescuer;
    probe_trace_writer_open(&rescuer, probe_trace_place_rescue, probe_trace_writer_process);
    (void)probe_trace_writer_send(&rescuer, place, &parcel, rescue_wait_ms);
    (void)probe_trace_writer_close(&rescuer);
}
