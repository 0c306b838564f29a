#include "sampler.h"

#include "clock.h"
#include <unistd.h>

/* Short tasks get samples too: an early, geometric schedule costs a few reads and no wake-ups
 * later. */
static const int64_t early_ms[] = {2, 5, 10, 20, 50, 100, 200, 500};

/* A group counts as the task's own when it was as good as new as the task started: a container's
 * shell may wait in it, a login session or a Python launcher may not, and its lifetime maximum must
 * not be an earlier program's. */
static const uint64_t waiting_rss_bytes = 8ULL << 20, earlier_peak_bytes = 64ULL << 20;

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static int64_t next_due(const probe_sampler *sampler, int64_t now_ns) {
    int64_t elapsed = now_ns - sampler->start_ns;
    for (size_t i = 0; i < sizeof early_ms / sizeof early_ms[0]; i++) {
        int64_t due = early_ms[i] * PROBE_NS_PER_MS;
        if (due > elapsed && due < sampler->config.interval_ns) {
            return sampler->start_ns + due;
        }
    }
    /* Fixed grid from the start: a late step does not shift the ones after it, and missed ones are
     * not made up for. */
    int64_t interval = sampler->config.interval_ns;
    return sampler->start_ns + (elapsed / interval + 1) * interval;
}

static void walk(probe_sampler *sampler) {
    probe_tree_walk(&sampler->tree, sampler->config.proc_root, getpid(), sampler->excluded,
                    PROBE_EXCLUDED);
}

/* Why the group as it was at open is not the task's own; NULL: it is. */
static const char *why_shared(const probe_sampler *sampler) {
    probe_cgroup_reading before;
    probe_cgroup_get(&sampler->cgroup, &before);
    if (before.shared) {
        return "other processes are in it, or that cannot be ruled out";
    }
    if (sampler->config.scope != PROBE_SCOPE_DESCENDANTS) {
        /* In-process, what the group holds now is this process's own; an earlier peak is not this
         * measurement's. */
        return before.value[PROBE_CG_MEMORY_PEAK] >
                       before.value[PROBE_CG_MEMORY_CURRENT] + earlier_peak_bytes
                   ? "its memory peak is of the time before the measurement"
                   : NULL;
    }
    if (before.value[PROBE_CG_MEMORY_RSS] > waiting_rss_bytes) {
        return "it held more than 8 MiB before the task started";
    }
    if (before.value[PROBE_CG_MEMORY_PEAK] > earlier_peak_bytes) {
        return "its memory peak was above 64 MiB before the task started";
    }
    return NULL;
}

static void open_cgroup(probe_sampler *sampler) {
    const probe_sampler_config *config = &sampler->config;
    if (config->cgroup_mode == PROBE_CGROUP_OFF) {
        sampler->cgroup_omitted = true;
    } else if (config->cgroup_mode == PROBE_CGROUP_OWN && config->own_group != NULL) {
        probe_cgroup_open_own(&sampler->cgroup, config->own_group, config->proc_root);
    } else {
        (void)probe_cgroup_open(&sampler->cgroup, config->proc_root, config->fs_root, "self", NULL);
        bool any = sampler->cgroup.last.valid != 0;
        sampler->cgroup_shared = any ? why_shared(sampler) : NULL;
        sampler->cgroup_omitted =
            sampler->cgroup_shared != NULL && config->cgroup_mode != PROBE_CGROUP_SHARED;
    }
}

void probe_sampler_open(probe_sampler *sampler, const probe_sampler_config *config) {
    *sampler = (probe_sampler){.config = *config};
    open_cgroup(sampler);
    probe_proc_memory self;
    if (probe_proc_read_memory(config->proc_root, getpid(), &self) == PROBE_OK) {
        sampler->baseline_vm_peak_kib = self.vm_peak_kib;
        sampler->baseline_vm_hwm_kib = self.vm_hwm_kib;
    }
    if (config->scope == PROBE_SCOPE_PROCESS) {
        walk(sampler); /* children that were there before */
    }
    probe_usage_open(&sampler->usage, config->proc_root, config->scope, &sampler->tree);
}

void probe_sampler_read_host(probe_sampler *sampler) {
    probe_host_read(sampler->config.proc_root, &sampler->host);
}

void probe_sampler_start(probe_sampler *sampler, int64_t now_ns, int64_t wall_ms) {
    sampler->start_ns = now_ns;
    sampler->start_wall_ms = wall_ms;
    sampler->next_ns = next_due(sampler, now_ns);
}

/* This process's own memory. Its high-water marks are of its whole life: they count only if they
 * rose since the measurement began. */
static void add_self(probe_sampler *sampler, probe_tree_memory *sum) {
    probe_proc_memory self;
    if (probe_proc_read_memory(sampler->config.proc_root, getpid(), &self) != PROBE_OK) {
        return;
    }
    sum->processes++;
    sum->vm_size_kib += self.vm_size_kib;
    sum->vm_rss_kib += self.vm_rss_kib;
    if (self.vm_peak_kib > sampler->baseline_vm_peak_kib) {
        sum->largest_vm_peak_kib = larger(sum->largest_vm_peak_kib, self.vm_peak_kib);
    }
    if (self.vm_hwm_kib > sampler->baseline_vm_hwm_kib) {
        sum->largest_vm_hwm_kib = larger(sum->largest_vm_hwm_kib, self.vm_hwm_kib);
    }
}

static void sample_tree(probe_sampler *sampler) {
    probe_tree_memory sum;
    walk(sampler);
    probe_tree_read_memory(&sampler->tree, sampler->config.proc_root, &sum);
    if (sampler->config.scope == PROBE_SCOPE_PROCESS) {
        add_self(sampler, &sum);
    }
    sampler->memory = sum;
    if (sum.processes > 0) {
        sampler->samples++;
        sampler->vm_size_kib = larger(sampler->vm_size_kib, sum.vm_size_kib);
        sampler->vm_rss_kib = larger(sampler->vm_rss_kib, sum.vm_rss_kib);
        sampler->vm_peak_kib = larger(sampler->vm_peak_kib, sum.largest_vm_peak_kib);
        sampler->vm_hwm_kib = larger(sampler->vm_hwm_kib, sum.largest_vm_hwm_kib);
    }
}

void probe_sampler_step(probe_sampler *sampler, int64_t now_ns) {
    sample_tree(sampler);
    if (!sampler->cgroup_omitted) {
        probe_cgroup_step(&sampler->cgroup);
    }
    sampler->next_ns = next_due(sampler, now_ns);
}

void probe_sampler_end(probe_sampler *sampler, int64_t now_ns) {
    if (sampler->cgroup_omitted || sampler->config.scope == PROBE_SCOPE_PROCESS) {
        probe_sampler_step(sampler, now_ns);
        return;
    }
    sample_tree(sampler);
    probe_cgroup_step_ended(&sampler->cgroup);
    sampler->next_ns = next_due(sampler, now_ns);
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
    block->host_memory_valid = block->memory_valid && sampler->host.mem_total_kib > 0;
    if (block->host_memory_valid) {
        block->pct_mem =
            (int64_t)(1000.0 * (double)block->rss_kib / (double)sampler->host.mem_total_kib + 0.5);
    }
}
