#include "report.h"

#include "clock.h"
#include "gpu_reader.h"
#include "gpu_summary.h"
#include "words.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SPARK_COLUMNS = 30 };

/* From here on, data centre and consumer boards are close to lowering their clocks. */
enum { HOT_C = 80 };

static void label(probe_words *w, const char *name) {
    probe_words_add(w, "  %-8s", name);
}

static const char *separator(const probe_words *w) {
    return w->unicode ? " · " : ", ";
}

static void add_duration(probe_words *w, int64_t ms) {
    if (ms < 1000) {
        probe_words_add(w, "%lld ms", (long long)ms);
    } else if (ms < 120 * 1000) {
        probe_words_add(w, "%.1f s", (double)ms / 1e3);
    } else {
        long long s = (ms + 500) / 1000;
        probe_words_add(w, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    }
}

static void add_gib(probe_words *w, double bytes) {
    if (bytes < 1024.0 * 1024 * 1024) {
        probe_words_add(w, "%.0f MiB", bytes / (1024.0 * 1024));
    } else {
        probe_words_add(w, "%.1f GiB", bytes / (1024.0 * 1024 * 1024));
    }
}

/* Mean utilization over time of all devices, in SPARK_COLUMNS steps at most; '?' for a stretch
 * without readings. */
static void add_sparkline(probe_words *w, const probe_gpu_snapshot *gpu) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    int length = 0;
    for (int d = 0; d < gpu->count; d++) {
        int one = probe_profile_length(&gpu->device[d].profile);
        length = one > length ? one : length;
    }
    int step = (length + SPARK_COLUMNS - 1) / SPARK_COLUMNS;
    for (int i = 0; i < length; i += step) {
        double weighted = 0;
        int64_t covered = 0;
        for (int d = 0; d < gpu->count; d++) {
            for (int j = i; j < i + step && j < PROBE_PROFILE_BUCKETS; j++) {
                weighted += gpu->device[d].profile.weighted[j];
                covered += gpu->device[d].profile.covered_ns[j];
            }
        }
        if (covered == 0) {
            probe_words_add(w, "?");
            continue;
        }
        int level = (int)(weighted / (double)covered * 8 / 100);
        level = level > 7 ? 7 : level;
        probe_words_add(w, "%s", w->unicode ? blocks[level] : ascii[level]);
    }
}

/* When devices were lost, each once: the instances of one go together. */
static void add_losses(probe_words *w, const probe_gpu_snapshot *gpu) {
    int told = -1;
    for (int i = 0; gpu != NULL && i < gpu->count; i++) {
        const probe_gpu_device *device = &gpu->device[i];
        if (device->lost && device->index != told) {
            told = device->index;
            probe_words_add(w, "; GPU %d stopped answering at ", told);
            add_duration(w, device->lost_ns / PROBE_NS_PER_MS);
        }
    }
}

static bool any_lost(const probe_gpu_snapshot *gpu) {
    bool lost = false;
    for (int i = 0; i < gpu->count; i++) {
        lost = lost || gpu->device[i].lost;
    }
    return lost;
}

static void add_xids(probe_words *w, const probe_gpu_snapshot *gpu) {
    uint64_t xids[4];
    int count = gpu == NULL ? 0 : probe_gpu_distinct_xids(gpu, xids, 4);
    for (int i = 0; i < count; i++) {
        probe_words_add(w, i == 0 ? "; the driver reported Xid %llu" : ", %llu",
                        (unsigned long long)xids[i]);
    }
}

/* Something suggests a GPU, or forbids to look, but the driver did not say that there is none. */
static bool was_not_measured(const probe_measurement *m) {
    const probe_gpu_snapshot *gpu = m->trace.gpu;
    bool expected = m->config.nvml_library != NULL || probe_gpu_device_node("/dev") != NULL;
    return expected && (gpu == NULL || (gpu->count == 0 && gpu->driver[0] == '\0'));
}

/* Without a device: why. */
static void add_absence(probe_words *w, const probe_measurement *m) {
    const char *note = m->trace.gpu_note;
    bool told = note != NULL && note[0] != '\0', asked = m->trace.gpu != NULL;
    if (was_not_measured(m)) {
        probe_words_add(w, "GPU not measured%s%s", told ? ": " : "", told ? note : "");
        probe_words_add(w, told && asked ? "; see gpu-probe --check" : ""); /* NVML's own words */
    } else if (told && asked) {
        probe_words_add(w, "no GPU was measured: %s", note);
    } else {
        probe_words_add(w, "no GPU was visible");
    }
}

static void add_use(probe_words *w, const probe_gpu_snapshot *gpu,
                    const probe_gpu_figures *figures) {
    if (!figures->utilization_valid) {
        probe_words_add(w, "GPU utilization could not be measured");
    } else if (figures->unused) {
        probe_words_add(w, "GPU never used");
    } else if (figures->coverage < PROBE_GPU_COVERAGE_UNUSED) {
        bool several = gpu->count > 1; /* each with a time of its own */
        probe_words_add(w, "%s observed only %.0f %% of the time", several ? "a GPU was" : "GPU",
                        100 * figures->coverage);
        if (figures->peak_pct > 0) {
            probe_words_add(w,
                            several ? "; while observed, the GPUs were busy %lld %%"
                                    : ", and busy %lld %% of that",
                            (long long)figures->pct);
        }
    } else if (figures->peak_pct == 0) {
        probe_words_add(w, "not every GPU could be observed, and none was seen busy");
    } else {
        probe_words_add(w, "GPU busy %lld %% %s", (long long)figures->pct,
                        any_lost(gpu) ? "while observed" : "of the time");
    }
}

static void add_verdict(probe_words *w, const probe_measurement *m,
                        const probe_gpu_figures *figures) {
    const probe_trace *trace = &m->trace;
    if (trace->gpu == NULL || trace->gpu->count == 0) {
        add_absence(w, m);
    } else {
        add_use(w, trace->gpu, figures);
    }
    add_losses(w, trace->gpu);
    add_xids(w, trace->gpu);
    if (trace->signalled) {
        probe_words_add(w, "; the command was killed by ");
        probe_words_add_signal(w, trace->signal);
    } else if (trace->exited && trace->exit_status != 0) {
        probe_words_add(w, "; the command failed with exit status %d", trace->exit_status);
    }
    uint64_t oom_kills = trace->cgroup.value[PROBE_CG_MEMORY_OOM_KILLS]; /* 0: none, or not known */
    if (oom_kills > 0) {
        probe_words_add(w, "; %llu oom kill%s%s", (unsigned long long)oom_kills,
                        oom_kills == 1 ? "" : "s", trace->cgroup_shared ? " in its group" : "");
    }
    probe_words_add(w, "%s\n",
                    trace->gpu != NULL && trace->gpu->mock ? " [mock driver: not a real GPU]" : "");
}

/* The choice of the devices may be wrong. */
static void add_doubt(probe_words *w, const probe_gpu_snapshot *gpu) {
    int instances = 0;
    for (int i = 0; i < gpu->count; i++) {
        instances += gpu->device[i].mig.is_instance;
    }
    if (instances > 1) {
        probe_words_add(w, "%s%d instances counted, the task may use one", separator(w), instances);
    } else {
        probe_words_add(w, "%sthe task may use other GPUs", separator(w));
    }
    probe_words_add(w, gpu->gpus == PROBE_GPUS_OPTION ? "" : "; --gpus chooses");
}

static void add_gpu_line(probe_words *w, const probe_gpu_snapshot *gpu,
                         const probe_gpu_figures *figures) {
    label(w, "GPU");
    char names[PROBE_GPU_NAMES_SIZE];
    probe_gpu_join_names(gpu, names, sizeof names);
    probe_words_add(w, "%d x %s", gpu->count, names[0] == '\0' ? "GPU" : names);
    if (figures->utilization_valid) {
        probe_words_add(w, "%smean %lld %%%smax %lld %%%s", separator(w), (long long)figures->pct,
                        separator(w), (long long)figures->peak_pct, separator(w));
        add_sparkline(w, gpu);
    }
    if (gpu->ambiguous) {
        add_doubt(w, gpu);
    }
    probe_words_add(w, "\n");
}

static void add_vram_line(probe_words *w, const probe_gpu_figures *figures) {
    label(w, "VRAM");
    if (!figures->used_valid) {
        probe_words_add(w, "not measurable on this device\n");
        return;
    }
    probe_words_add(w, "peak ");
    add_gib(w, (double)figures->peak_used_mib * 1048576.0);
    if (figures->total_valid) {
        probe_words_add(w, " of ");
        add_gib(w, (double)figures->mem_mib * 1048576.0);
        probe_words_add(w, " (%.0f %%)", figures->peak_used_pct);
    }
    probe_words_add(w, "%smean ", separator(w));
    add_gib(w, (double)figures->avg_used_mib * 1048576.0);
    probe_words_add(w, "\n");
}

static void add_energy_line(probe_words *w, const probe_gpu_snapshot *gpu, int64_t realtime_ns) {
    uint64_t energy_mj = 0, throttle = 0;
    uint32_t peak_temp_c = 0;
    int energy_known = 0;
    bool throttle_known = false;
    int64_t throttle_ns = realtime_ns; /* up to when all of it is known */
    for (int i = 0; i < gpu->count; i++) {
        const probe_gpu_health *health = &gpu->device[i].health;
        energy_known += health->energy_valid;
        energy_mj += health->energy_mj;
        throttle_known = throttle_known || health->throttle_valid;
        throttle |= health->throttle_bits;
        if (health->throttle_valid && !probe_gpu_throttle_is_known(health, realtime_ns) &&
            health->throttle_ns < throttle_ns) {
            throttle_ns = health->throttle_ns;
        }
        peak_temp_c = health->peak_temp_c > peak_temp_c ? health->peak_temp_c : peak_temp_c;
    }
    label(w, "energy");
    if (energy_known > 0) {
        double joule = (double)energy_mj / 1e3;
        probe_words_add(w, joule < 10000 ? "%.0f J" : "%.1f kJ",
                        joule < 10000 ? joule : joule / 1e3);
        if (energy_known < gpu->count) {
            probe_words_add(w, " (%d of %d devices)", energy_known, gpu->count);
        }
    } else {
        probe_words_add(w, "not known");
    }
    if (throttle == 0 && throttle_ns < realtime_ns) {
        probe_words_add(w, "%sthrottling not known after %.1f s", separator(w),
                        (double)throttle_ns / (double)PROBE_NS_PER_S);
    } else if (throttle_known) {
        uint64_t hot = NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL;
        probe_words_add(w, "%s%s", separator(w),
                        throttle == 0           ? "not throttled"
                        : (throttle & hot) != 0 ? "throttled (temperature)"
                                                : "throttled (power)");
    }
    if (peak_temp_c >= HOT_C) {
        probe_words_add(w, "%speak %u%sC", separator(w), peak_temp_c, w->unicode ? " °" : " ");
    }
    probe_words_add(w, "\n");
}

static void add_file_error(probe_words *w, const probe_measurement *m) {
    const probe_error *error = &m->file_error;
    const char *workdir = m->config.workdir;
    const char *cause = error->status == PROBE_E_SYSCALL ? strerror(error->sys_errno) : error->what;
    bool here = workdir != NULL && strcmp(workdir, ".") == 0;
    bool moved = m->place.elsewhere[0] != '\0';
    if (m->config.trace_file != NULL) {
        probe_words_add(w, "--trace-file %s: %s", m->config.trace_file, cause);
    } else if (error->sys_errno == ENOENT && m->place.workdir[0] == '\0' && !here) {
        probe_words_add(w, "--workdir %s does not exist; make it first", workdir);
    } else {
        probe_words_add(w, "no trace in %s/.fusion: %s",
                        m->place.workdir[0] != '\0' ? m->place.workdir : workdir, cause);
    }
    probe_words_add(w, moved ? "; the trace is in %s\n" : "; there is no final trace%s\n",
                    m->place.elsewhere);
}

static void add_trace_line(probe_words *w, const probe_measurement *m) {
    label(w, "trace");
    if (m->file_error.status == PROBE_OK) {
        probe_words_add(w, "%s\n", m->place.file.path);
    } else {
        add_file_error(w, m);
    }
}

void probe_report_no_trace(const probe_measurement *m, char *out, size_t size) {
    probe_words w = {.out = out, .size = size};
    probe_words_add(&w, "gpu-probe: ");
    add_file_error(&w, m);
}

void probe_report_format(const probe_measurement *m, bool unicode, char *out, size_t size) {
    probe_words w = {.out = out, .size = size, .unicode = unicode};
    const probe_trace *trace = &m->trace;
    const probe_proc_block *proc = &trace->proc;
    probe_gpu_figures figures = {0};
    bool has_gpu = trace->gpu != NULL && trace->gpu->count > 0;
    if (has_gpu) {
        probe_gpu_total_figures(trace->gpu, trace->realtime_ns, &figures);
    }
    out[0] = '\0';
    probe_words_add(&w, "gpu-probe: ");
    add_verdict(&w, m, &figures);
    label(&w, "time");
    add_duration(&w, proc->realtime_ms);
    probe_words_add(&w, " wall%s", separator(&w));
    add_duration(&w, proc->usage.cpu_usec / 1000);
    probe_words_add(&w, " CPU (%.1f %% of one)%speak RSS ", (double)proc->pct_cpu / 10,
                    separator(&w));
    add_gib(&w, (double)proc->peak_rss_kib * 1024);
    probe_words_add(&w, "\n");
    if (has_gpu) {
        add_gpu_line(&w, trace->gpu, &figures);
        add_vram_line(&w, &figures);
        add_energy_line(&w, trace->gpu, trace->realtime_ns);
    } else {
        label(&w, "GPU");
        bool missed = was_not_measured(m); /* and said why above */
        bool told = trace->gpu == NULL && trace->gpu_note != NULL && trace->gpu_note[0] != '\0';
        probe_words_add(&w, "%s\n", missed ? "not measured" : told ? trace->gpu_note : "none");
        label(&w, "VRAM");
        probe_words_add(&w, missed ? "not measured\n" : "none\n");
        label(&w, "energy");
        probe_words_add(&w, "not known\n");
    }
    add_trace_line(&w, m);
}
