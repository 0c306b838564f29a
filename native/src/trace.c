#include "trace.h"

#include "trace_gpu.h"
#include "trace_gpu_probe.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#if defined __x86_64__
static const char arch[] = "linux/amd64";
#elif defined __aarch64__
static const char arch[] = "linux/arm64";
#else
#error "probe: name this architecture as Go does"
#endif

static const char *const io_names[] = {"rchar", "wchar",      "syscr",
                                       "syscw", "read_bytes", "write_bytes"};

void probe_trace_note(probe_trace *trace, const char *note) {
    if (note != NULL && note[0] != '\0' && trace->note_count < PROBE_TRACE_NOTES) {
        trace->notes[trace->note_count++] = note;
    }
}

void probe_trace_write_notes(probe_json *json, const char *const *notes, int count) {
    probe_json_open(json, "notes", '[');
    for (int i = 0; i < count; i++) {
        probe_json_string(json, NULL, notes[i]);
    }
    probe_json_close(json, ']');
}

void probe_trace_make_run_id(char run_id[33]) {
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        /* Early boot, or a filtered system call: the clock still makes the id differ from run to
         * run. */
        struct timespec t = {0};
        (void)clock_gettime(CLOCK_REALTIME, &t);
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, &t, sizeof bytes < sizeof t ? sizeof bytes : sizeof t);
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(run_id + 2 * i, 3, "%02x", bytes[i]);
    }
}

static void write_proc(probe_json *json, const probe_trace *trace) {
    const probe_proc_block *proc = &trace->proc;
    probe_json_open(json, "proc", '{');
    probe_json_int(json, "realtime", proc->realtime_ms);
    probe_json_int(json, "pct_cpu", proc->pct_cpu);
    if (trace->host->cpu_name[0] != '\0') {
        probe_json_string(json, "cpu_name", trace->host->cpu_name);
    }
    probe_json_string(json, "arch", arch);
    for (size_t i = 0; i < sizeof io_names / sizeof io_names[0]; i++) {
        probe_json_int(json, io_names[i], proc->io_valid ? proc->usage.io[i] : 0);
    }
    probe_json_int(json, "pct_mem", proc->pct_mem);
    probe_json_uint(json, "vmem", proc->vmem_kib);
    probe_json_uint(json, "rss", proc->rss_kib);
    probe_json_uint(json, "peak_vmem", proc->peak_vmem_kib);
    probe_json_uint(json, "peak_rss", proc->peak_rss_kib);
    probe_json_int(json, "vol_ctxt", proc->usage.voluntary);
    probe_json_int(json, "inv_ctxt", proc->usage.involuntary);
    probe_json_close(json, '}');
}

static bool has_gpu_block(const probe_trace *trace) {
    return trace->gpu != NULL && trace->gpu->count > 0;
}

static bool has_cgroup_block(const probe_trace *trace) {
    const uint32_t memory = 1U << PROBE_CG_MEMORY_CURRENT | 1U << PROBE_CG_MEMORY_PEAK |
                            1U << PROBE_CG_MEMORY_RSS | 1U << PROBE_CG_MEMORY_PEAK_RSS;
    return (trace->cgroup.valid & memory) == memory;
}

static bool cgroup_valid(const probe_cgroup_reading *cgroup, int key) {
    return (cgroup->valid >> key & 1U) != 0;
}

static void write_cgroup(probe_json *json, const probe_cgroup_reading *cgroup) {
    probe_json_open(json, "cgroup", '{');
    probe_json_string(json, "version", cgroup->version == 2 ? "v2" : "v1");
    for (int key = 0; key < PROBE_CG_COUNT; key++) {
        probe_json_uint(json, probe_cgroup_key_name(key),
                        cgroup_valid(cgroup, key) ? cgroup->value[key] : 0);
    }
    probe_json_close(json, '}');
}

static void write_unavailable(probe_json *json, const probe_trace *trace) {
    char name[64];
    probe_json_open(json, "unavailable", '[');
    for (size_t i = 0; !trace->proc.io_valid && i < sizeof io_names / sizeof io_names[0]; i++) {
        (void)snprintf(name, sizeof name, "proc.%s", io_names[i]);
        probe_json_string(json, NULL, name);
    }
    if (!trace->proc.host_memory_valid) {
        probe_json_string(json, NULL, "proc.pct_mem");
    }
    static const char *const sampled[] = {"proc.vmem", "proc.rss", "proc.peak_vmem"};
    for (size_t i = 0; !trace->proc.memory_valid && i < sizeof sampled / sizeof sampled[0]; i++) {
        probe_json_string(json, NULL, sampled[i]);
    }
    if (trace->proc.peak_rss_kib == 0) {
        probe_json_string(json, NULL, "proc.peak_rss");
    }
    for (int key = 0; has_cgroup_block(trace) && key < PROBE_CG_COUNT; key++) {
        if (!cgroup_valid(&trace->cgroup, key)) {
            (void)snprintf(name, sizeof name, "cgroup.%s", probe_cgroup_key_name(key));
            probe_json_string(json, NULL, name);
        }
    }
    probe_json_close(json, ']');
}

static void write_sources(probe_json *json, const probe_trace *trace) {
    probe_json_open(json, "sources", '{');
    probe_json_string(json, "proc.cpu", "rusage");
    if (trace->proc.io_valid) {
        probe_json_string(json, "proc.io", "proc_io");
    }
    if (trace->proc.memory_valid) {
        probe_json_string(json, "proc.memory", "proc_status");
    }
    if (has_gpu_block(trace)) {
        probe_trace_write_gpu_sources(json, trace->gpu, trace->realtime_ns);
    }
    if (has_cgroup_block(trace)) {
        probe_json_string(json, "cgroup.memory",
                          trace->cgroup.version == 2 ? "cgroup_v2" : "cgroup_v1");
    }
    probe_json_close(json, '}');
}

static void write_scope(probe_json *json, const probe_trace *trace) {
    probe_json_open(json, "scope", '{');
    probe_trace_write_gpu_scope(json, trace->gpu);
    if (has_cgroup_block(trace)) {
        probe_json_string(json, "cgroup", trace->cgroup_shared ? "shared" : "own");
    }
    probe_json_close(json, '}');
}

static void write_text(probe_json *json, const char *key, const char *text) {
    if (text[0] != '\0') {
        probe_json_string(json, key, text);
    }
}

static void write_identity(probe_json *json, const probe_trace *trace) {
    const probe_host *host = trace->host;
    probe_json_int(json, "schema", 1);
    probe_json_string(json, "version", PROBE_VERSION);
    probe_json_string(json, "run_id", trace->run_id);
    probe_json_int(json, "pid", trace->pid);
    probe_json_uint(json, "pid_start", host->pid_start);
    if (host->boot_id[0] != '\0') {
        probe_json_string(json, "boot_id", host->boot_id);
    }
    if (host->pid_ns != 0) {
        probe_json_uint(json, "pid_ns", host->pid_ns);
    }
    probe_json_string(json, "hostname", host->hostname);
    write_text(json, "workdir", trace->workdir != NULL ? trace->workdir : "");
    probe_json_string(json, "state", trace->final ? "final" : "running");
    probe_json_int(json, "start_ms", trace->start_ms);
    probe_json_int(json, "written_ms", trace->written_ms);
    if (trace->exited) {
        probe_json_int(json, "exit", trace->exit_status);
    }
    if (trace->signalled) {
        probe_json_int(json, "signal", trace->signal);
    }
}

static void write_relations(probe_json *json, const probe_trace *trace) {
    if (trace->job != NULL) {
        write_text(json, "job", trace->job->job);
        write_text(json, "step", trace->job->step);
        write_text(json, "array", trace->job->array);
        write_text(json, "rank", trace->job->rank);
    }
    write_text(json, "within", trace->within != NULL ? trace->within : "");
}

static void write_probe(probe_json *json, const probe_trace *trace) {
    probe_json_open(json, "probe", '{');
    write_identity(json, trace);
    write_relations(json, trace);
    probe_json_int(json, "interval_ms", trace->interval_ms);
    probe_json_uint(json, "samples", trace->samples);
    probe_json_int(json, "own_cpu_usec", trace->own_cpu_usec);
    if (trace->proc.memory_valid) {
        probe_json_uint(json, "peak_rss_upper_kib", trace->proc.peak_rss_upper_kib);
    }
    if (has_gpu_block(trace)) {
        probe_trace_write_gpu_coverage(json, trace->gpu, trace->realtime_ns);
    }
    write_sources(json, trace);
    write_unavailable(json, trace);
    write_scope(json, trace);
    probe_trace_write_gpu_mock(json, trace->gpu);
    probe_trace_write_notes(json, trace->notes, trace->note_count);
    probe_json_close(json, '}');
}

probe_status probe_trace_to_json(const probe_trace *trace, char *buf, size_t size, size_t *length) {
    probe_json json;
    probe_json_begin(&json, buf, size);
    probe_json_open(&json, NULL, '{');
    write_proc(&json, trace);
    if (has_gpu_block(trace)) {
        probe_trace_write_gpu(&json, trace->gpu, trace->realtime_ns, trace->final);
    }
    if (has_cgroup_block(trace)) {
        write_cgroup(&json, &trace->cgroup);
    }
    write_probe(&json, trace);
    probe_json_close(&json, '}');
    return probe_json_end(&json, length);
}
