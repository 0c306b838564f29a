/* Samples a process tree and its control group. The caller owns the clock: every function that
 * depends on time takes it as a parameter. */
#ifndef PROBE_SAMPLER_H
#define PROBE_SAMPLER_H

#include "cgroup_mode.h"
#include "cgroup_reader.h"
#include "proc_reader.h"
#include "proc_tree.h"
#include "process_set.h"
#include "usage.h"
#include <stdint.h>

enum { PROBE_EXCLUDED_HELPER, PROBE_EXCLUDED_WRITER, PROBE_EXCLUDED_WATCHER, PROBE_EXCLUDED };

typedef struct {
    const char *proc_root; /* "/proc"; kept, not copied */
    const char *fs_root;   /* "" ; put before the mount points of control groups */
    probe_usage_scope scope;
    int64_t interval_ns;
    probe_cgroup_mode cgroup_mode;
    const probe_cgroup_paths *own_group; /* for PROBE_CGROUP_OWN, copied; NULL: there is none, which
                                            makes it PROBE_CGROUP_AUTO */
    int64_t budget_ppm;                  /* share of one CPU that samples may take; 0: no limit */
    int max_descriptors;                 /* kept open for the files of processes */
} probe_sampler_config;

typedef struct {
    probe_sampler_config config;
    const char *by_number; /* where processes are found by their number */
    bool foreign_numbers;  /* nowhere: /proc is another PID namespace's */
    probe_host host;
    probe_usage_reader usage;
    probe_cgroup_reader cgroup;
    probe_tree tree;
    const char *cgroup_shared; /* why the group is not the task's own, so that its memory figures
                                  include others'; NULL: it is. A static string */
    bool cgroup_omitted;       /* the group is not read and has no block */
    probe_process_set set;
    /* children of ours that are not the task's, with their descendants; 0: none */
    pid_t excluded[PROBE_EXCLUDED];
    int64_t start_ns;                 /* CLOCK_MONOTONIC */
    int64_t start_wall_ms;            /* ms since 1970 */
    int64_t next_ns;                  /* when the next step is due */
    int64_t cost_ns;                  /* CPU time of the last step */
    uint32_t samples;                 /* steps that could read at least one process */
    probe_tree_memory memory;         /* as of the last step */
    uint64_t vm_size_kib, vm_rss_kib; /* largest sampled sums */
    uint64_t vm_hwm_sum_kib;          /* largest sampled sum of high-water marks */
    uint64_t vm_peak_kib, vm_hwm_kib; /* largest of one process */
    uint64_t baseline_vm_peak_kib,
        baseline_vm_hwm_kib; /* of this process: its life began before the measurement */
} probe_sampler;

/* The trace's proc block. */
typedef struct {
    int64_t realtime_ms;
    int64_t pct_cpu; /* tenths of a percent of one CPU */
    int64_t pct_mem; /* tenths of a percent of the host's memory; 0 without host_memory_valid */
    bool memory_valid, io_valid, host_memory_valid;
    uint64_t vmem_kib, rss_kib, peak_vmem_kib, peak_rss_kib;
    uint64_t peak_rss_upper_kib; /* the true peak of the sum lies between peak_rss_kib and this */
    probe_usage usage;
} probe_proc_block;

/* Takes all baselines: call it before the task starts. */
void probe_sampler_open(probe_sampler *sampler, const probe_sampler_config *config);

/* Why the group that was opened before a task is not that task's own, so that its figures include
 * others'; NULL: it is. A static string. */
const char *probe_sampler_why_shared(const probe_cgroup_reader *cgroup, const char *proc_root,
                                     probe_usage_scope scope);

/* The task starts now. */
void probe_sampler_start(probe_sampler *sampler, int64_t now_ns, int64_t wall_ms);

/* What can wait until the task runs; once, before the first summary: the host's facts, and who
 * shares the group. */
void probe_sampler_settle(probe_sampler *sampler);

/* Takes one sample and sets next_ns: 2, 5, 10, 20, 50, 100, 200 and 500 ms after the start, then
 * every interval, or less often where that would exceed the budget. Never fails. */
void probe_sampler_step(probe_sampler *sampler, int64_t now_ns);

/* The task, if it is a child, has ended but is not reaped: takes the last sample, and leaves the
 * gauges of its group as they were before. */
void probe_sampler_end(probe_sampler *sampler);

/* The time between two samples that cost cost_ns of CPU time each: interval_ns, or as much more as
 * it takes to stay within budget_ppm of one CPU; 0: no budget. */
int64_t probe_sampler_spacing_ns(int64_t interval_ns, int64_t cost_ns, int64_t budget_ppm);

/* The figures as of now. Reads the exact counters, but takes no sample. */
void probe_sampler_summarize(probe_sampler *sampler, int64_t now_ns, probe_proc_block *block);

enum { PROBE_SAMPLER_DESCRIPTORS = PROBE_CGROUP_FILES + 2 };

/* The descriptors that open left open, at most size. Returns their number. */
size_t probe_sampler_descriptors(const probe_sampler *sampler, int *fds, size_t size);

void probe_sampler_close(probe_sampler *sampler);

#endif
