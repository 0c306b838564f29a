/* From samples and snapshots to the timeline. */
#ifndef PROBE_TIMELINE_FEED_H
#define PROBE_TIMELINE_FEED_H

#include "sampler.h"
#include "timeline.h"
#include <stdbool.h>
#include <stdint.h>

/* What was known of a device at the previous snapshot; times in ns since the start. */
typedef struct {
    int64_t memory_ns;
    int64_t controller_ns; /* up to where the memory controller's readings went */
    probe_profile profile;
    probe_utilization controller;
    uint32_t peak_pct;
    probe_gpu_activity activity;
} probe_timeline_device;

typedef struct {
    probe_timeline timeline;
    int64_t sampled_ns;
    double rss_kib, processes; /* the last ones that could be read */
    int64_t cpu_ns, cpu_usec;
    int64_t cpus; /* no more than these can be busy */
    int64_t gpu_ns, gpu_memory_ns;
    probe_timeline_device device[PROBE_GPU_MAX];
} probe_timeline_feed;

/* Memory of its own, which pages in as it is used. NULL: there is none. */
probe_timeline_feed *probe_timeline_feed_open(void);
void probe_timeline_feed_close(probe_timeline_feed *feed); /* NULL is allowed */

/* After a step of the sampler; now_ns: since the start. Each reading stands for the time since the
 * one before. */
void probe_timeline_feed_sample(probe_timeline_feed *feed, const probe_sampler *sampler,
                                int64_t now_ns);

/* CPU time since the start. /proc counts live processes in ticks of 10 ms, so a reading closer than
 * 100 ms to the one before is passed over, but for a final one that would be the only one. */
void probe_timeline_feed_cpu(probe_timeline_feed *feed, int64_t now_ns, int64_t cpu_usec,
                             bool final);

/* A snapshot of the helper's; one that was seen before is passed over. */
void probe_timeline_feed_gpu(probe_timeline_feed *feed, const probe_gpu_snapshot *snapshot);

#endif
