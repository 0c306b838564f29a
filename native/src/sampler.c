#include "sampler.h"

#include "clock.h"
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Short tasks get samples too: an early, geometric schedule costs a few reads and no wake-ups
 * later. */
static const int64_t early_ms[] = {2, 5, 10, 20, 50, 100, 200, 500};
static const int64_t dense_until_ns = 500 * PROBE_NS_PER_MS;

/* A group counts as the task's own when it was as good as new as the task started: a container's
 * shell may wait in it, a login session or a Python launcher may not, and its lifetime maximum must
 * not be an earlier program's. */
static const uint64_t waiting_rss_bytes = 8ULL << 20, earlier_peak_bytes = 64ULL << 20;

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

int64_t probe_sampler_spacing_ns(int64_t interval_ns, int64_t cost_ns, int64_t budget_ppm) {
    if (budget_ppm <= 0 || cost_ns <= 0) {
        return interval_ns;
    }
    int64_t spacing =
        cost_ns > INT64_MAX / 1000000 ? INT64_MAX / 2 : cost_ns * 1000000 / budget_ppm;
    return spacing > interval_ns ? spacing : interval_ns;
}

static int64_t next_due(const probe_sampler *sampler, int64_t now_ns) {
    int64_t elapsed = now_ns - sampler->start_ns;
    for (size_t i = 0; i < sizeof early_ms / sizeof early_ms[0]; i++) {
        int64_t due = early_ms[i] * PROBE_NS_PER_MS;
        if (due > elapsed && due < sampler->config.interval_ns) {
            return sampler->start_ns + due;
        }
    }
    int64_t interval = sampler->config.interval_ns;
    int64_t spacing =
        probe_sampler_spacing_ns(interval, sampler->cost_ns, sampler->config.budget_ppm);
    if (spacing > interval) {
        return now_ns + spacing;
    }
    /* Fixed grid from the start: a late step does not shift the ones after it, and missed ones are
     * not made up for. */
    return sampler->start_ns + (elapsed / interval + 1) * interval;
}

static void walk(probe_sampler *sampler) {
    probe_tree_walk(&sampler->tree, &sampler->set, getpid(), sampler->excluded, PROBE_EXCLUDED);
}

/* All but what is large and set by its own open: to touch fresh memory costs as much as a read. */
static void clear(probe_sampler *sampler) {
    const size_t from = offsetof(probe_sampler, start_ns);
    sampler->host = (probe_host){0};
    sampler->tree.count = 0;
    sampler->tree.truncated = false;
    memset(sampler->excluded, 0, sizeof sampler->excluded);
    memset((char *)sampler + from, 0, sizeof *sampler - from);
}

const char *probe_sampler_why_shared(const probe_cgroup_reader *cgroup, const char *proc_root,
                                     probe_usage_scope scope) {
    const uint64_t *before = cgroup->baseline;
    bool wrapper = scope == PROBE_SCOPE_DESCENDANTS;
    /* What is known already comes before the search among the ancestors, which takes longest. */
    if (wrapper && before[PROBE_CG_MEMORY_RSS] > waiting_rss_bytes) {
        return "it held more than 8 MiB before the task started";
    }
    if (wrapper && before[PROBE_CG_MEMORY_PEAK] > earlier_peak_bytes) {
        return "its memory peak was above 64 MiB before the task started";
    }
    /* In-process, what the group holds now is this process's own; an earlier peak is not this
     * measurement's. */
    if (!wrapper &&
        before[PROBE_CG_MEMORY_PEAK] > before[PROBE_CG_MEMORY_CURRENT] + earlier_peak_bytes) {
        return "its memory peak is of the time before the measurement";
    }
    return probe_cgroup_shared(cgroup, proc_root, "self")
               ? "other processes are in it, or that cannot be ruled out"
               : NULL;
}

static bool has_own_group(const probe_sampler_config *config) {
    return config->cgroup_mode == PROBE_CGROUP_OWN && config->own_group != NULL;
}

static void open_cgroup(probe_sampler *sampler) {
    const probe_sampler_config *config = &sampler->config;
    sampler->cgroup_shared = NULL;
    sampler->cgroup_omitted = config->cgroup_mode == PROBE_CGROUP_OFF;
    if (sampler->cgroup_omitted) {
        probe_cgroup_open_none(&sampler->cgroup);
    } else if (has_own_group(config)) {
        probe_cgroup_open_own(&sampler->cgroup, config->own_group);
    } else {
        (void)probe_cgroup_open(&sampler->cgroup, config->proc_root, config->fs_root, "self", NULL);
    }
}

/* Who shares the group is found out when the task runs, from the list that was taken before. */
static void settle_cgroup(probe_sampler *sampler) {
    const probe_sampler_config *config = &sampler->config;
    if (sampler->cgroup_omitted) {
        return;
    }
    probe_cgroup_settle(&sampler->cgroup, sampler->host.mem_total_kib * 1024);
    if (has_own_group(config) || sampler->cgroup.last.valid == 0) {
        return;
    }
    sampler->cgroup_shared =
        probe_sampler_why_shared(&sampler->cgroup, config->proc_root, config->scope);
    sampler->cgroup_omitted =
        sampler->cgroup_shared != NULL && config->cgroup_mode != PROBE_CGROUP_SHARED;
}

void probe_sampler_open(probe_sampler *sampler, const probe_sampler_config *config) {
    clear(sampler);
    sampler->config = *config;
    probe_proc_view view = probe_proc_view_of(config->proc_root);
    sampler->foreign_numbers = view == PROBE_PROC_OTHERS;
    sampler->by_number = probe_proc_by_number(config->proc_root);
    probe_process_set_open(&sampler->set, sampler->by_number, config->max_descriptors);
    open_cgroup(sampler);
    if (config->scope == PROBE_SCOPE_PROCESS) {
        probe_proc_memory self;
        if (probe_proc_read_memory(sampler->by_number, getpid(), &self) == PROBE_OK) {
            sampler->baseline_vm_peak_kib = self.vm_peak_kib;
            sampler->baseline_vm_hwm_kib = self.vm_hwm_kib;
        }
        walk(sampler); /* children that were there before */
    }
    probe_usage_open(&sampler->usage, sampler->by_number, config->scope, &sampler->tree);
}

void probe_sampler_settle(probe_sampler *sampler) {
    probe_host_read(sampler->config.proc_root, &sampler->host);
    settle_cgroup(sampler);
}

void probe_sampler_close(probe_sampler *sampler) {
    probe_cgroup_close(&sampler->cgroup);
    probe_usage_close(&sampler->usage);
    probe_process_set_close(&sampler->set);
}

void probe_sampler_start(probe_sampler *sampler, int64_t now_ns, int64_t wall_ms) {
    sampler->start_ns = now_ns;
    sampler->start_wall_ms = wall_ms;
    sampler->next_ns = next_due(sampler, now_ns);
}

/* This process's own memory. Its high-water marks are of its whole life: they count only if they
 * rose since the measurement began. */
static void add_self(probe_sampler *sampler, bool thorough, probe_tree_memory *sum) {
    probe_proc_memory self;
    if (probe_process_set_read_memory(&sampler->set, getpid(), thorough, &self) != PROBE_OK) {
        return;
    }
    if (self.vm_peak_kib <= sampler->baseline_vm_peak_kib) {
        self.vm_peak_kib = 0;
    }
    if (self.vm_hwm_kib <= sampler->baseline_vm_hwm_kib) {
        self.vm_hwm_kib = self.vm_rss_kib;
    }
    probe_tree_add_memory(sum, &self);
}

static void sample_memory(probe_sampler *sampler, bool thorough) {
    probe_tree_memory sum;
    walk(sampler);
    probe_tree_read_memory(&sampler->tree, &sampler->set, thorough, &sum);
    if (sampler->config.scope == PROBE_SCOPE_PROCESS) {
        add_self(sampler, thorough, &sum);
    }
    sampler->memory = sum;
    if (sum.processes == 0) {
        return;
    }
    sampler->samples++;
    sampler->vm_size_kib = larger(sampler->vm_size_kib, sum.vm_size_kib);
    sampler->vm_rss_kib = larger(sampler->vm_rss_kib, sum.vm_rss_kib);
    sampler->vm_hwm_sum_kib = larger(sampler->vm_hwm_sum_kib, sum.sum_vm_hwm_kib);
    sampler->vm_peak_kib = larger(sampler->vm_peak_kib, sum.largest_vm_peak_kib);
    sampler->vm_hwm_kib = larger(sampler->vm_hwm_kib, sum.largest_vm_hwm_kib);
}

void probe_sampler_step(probe_sampler *sampler, int64_t now_ns) {
    int64_t before_ns = probe_clock_thread_ns();
    /* While the schedule is dense, a sample may be one of few: it leaves nothing out. */
    sample_memory(sampler, now_ns - sampler->start_ns <= dense_until_ns);
    if (!sampler->cgroup_omitted) {
        probe_cgroup_sample(&sampler->cgroup);
    }
    sampler->cost_ns = probe_clock_thread_ns() - before_ns;
    sampler->next_ns = next_due(sampler, now_ns);
}

void probe_sampler_end(probe_sampler *sampler) {
    sample_memory(sampler, true);
    if (sampler->cgroup_omitted) {
        return;
    }
    if (sampler->config.scope == PROBE_SCOPE_PROCESS) {
        probe_cgroup_step(&sampler->cgroup);
    } else {
        probe_cgroup_step_ended(&sampler->cgroup);
    }
}

void probe_sampler_summarize(probe_sampler *sampler, int64_t now_ns, probe_proc_block *block) {
    *block = (probe_proc_block){0};
    walk(sampler);
    probe_usage_read(&sampler->usage, &sampler->tree, &block->usage);
    int64_t elapsed_ns = now_ns - sampler->start_ns;
    elapsed_ns = elapsed_ns > 0 ? elapsed_ns : 1; /* a division by it must not fail */
    block->realtime_ms = elapsed_ns / PROBE_NS_PER_MS;
    block->pct_cpu = (int64_t)((double)block->usage.cpu_usec * 1e6 / (double)elapsed_ns + 0.5);
    block->io_valid = block->usage.io_valid;
    block->memory_valid = sampler->samples > 0;
    block->vmem_kib = sampler->vm_size_kib;
    block->rss_kib = sampler->vm_rss_kib;
    block->peak_vmem_kib = larger(sampler->vm_size_kib, sampler->vm_peak_kib);
    block->peak_rss_kib =
        larger(larger(sampler->vm_rss_kib, sampler->vm_hwm_kib), block->usage.maxrss_kib);
    block->peak_rss_upper_kib = larger(sampler->vm_hwm_sum_kib, block->peak_rss_kib);
    block->host_memory_valid = block->memory_valid && sampler->host.mem_total_kib > 0;
    if (block->host_memory_valid) {
        block->pct_mem =
            (int64_t)(1000.0 * (double)block->rss_kib / (double)sampler->host.mem_total_kib + 0.5);
    }
}

size_t probe_sampler_descriptors(const probe_sampler *sampler, int *fds, size_t size) {
    size_t count = probe_cgroup_files_descriptors(&sampler->cgroup.files, fds, size);
    const int own[] = {sampler->usage.thread_io, sampler->usage.process_io};
    for (size_t i = 0; i < sizeof own / sizeof own[0] && count < size; i++) {
        if (own[i] >= 0) {
            fds[count++] = own[i];
        }
    }
    return count;
}
