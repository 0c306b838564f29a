#include "timeline_feed.h"

#include "clock.h"
#include <sys/mman.h>
#include <unistd.h>

probe_timeline_feed *probe_timeline_feed_open(void) {
    void *memory = mmap(NULL, sizeof(probe_timeline_feed), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    probe_timeline_feed *feed = memory;
    probe_timeline_init(&feed->timeline);
    feed->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return feed;
}

void probe_timeline_feed_close(probe_timeline_feed *feed) {
    if (feed != NULL) {
        (void)munmap(feed, sizeof *feed);
    }
}

void probe_timeline_feed_sample(probe_timeline_feed *feed, const probe_sampler *sampler,
                                int64_t now_ns) {
    const probe_tree_memory *memory = &sampler->memory;
    probe_timeline *timeline = &feed->timeline;
    if (memory->processes > 0) { /* a zombie holds nothing: what it held last stands to its end */
        feed->rss_kib = (double)memory->vm_rss_kib;
        feed->processes = (double)memory->processes;
    }
    if (feed->processes > 0) {
        probe_timeline_add(timeline, PROBE_TL_RSS_KIB, feed->sampled_ns, now_ns, feed->rss_kib);
        probe_timeline_add(timeline, PROBE_TL_PROCESSES, feed->sampled_ns, now_ns, feed->processes);
    }
    const probe_cgroup_reading *cgroup = &sampler->cgroup.last;
    if (!sampler->cgroup_omitted && (cgroup->valid >> PROBE_CG_MEMORY_CURRENT & 1U) != 0) {
        probe_timeline_add(timeline, PROBE_TL_CGROUP_MEMORY_BYTES, feed->sampled_ns, now_ns,
                           (double)cgroup->value[PROBE_CG_MEMORY_CURRENT]);
    }
    feed->sampled_ns = now_ns;
}

void probe_timeline_feed_cpu(probe_timeline_feed *feed, int64_t now_ns, int64_t cpu_usec,
                             bool final) {
    int64_t since_ns = now_ns - feed->cpu_ns;
    bool only = final && feed->cpu_ns == 0;
    if (since_ns <= 0 || (since_ns < 100 * PROBE_NS_PER_MS && !only)) {
        return;
    }
    /* What the ticks held back comes at once when a process ends: more than all CPUs can give is
     * left for later. */
    int64_t used = cpu_usec - feed->cpu_usec, most = since_ns / 1000 * feed->cpus;
    used = used > most && feed->cpus > 0 ? most : used;
    used = used > 0 ? used : 0;
    probe_timeline_add(&feed->timeline, PROBE_TL_CPU_PCT, feed->cpu_ns, now_ns,
                       (double)used * 1e5 / (double)since_ns);
    feed->cpu_ns = now_ns;
    feed->cpu_usec += used;
}

static void add_gpu_pct(probe_timeline *timeline, int d, int64_t from_ns, int64_t to_ns,
                        double pct) {
    int lane = probe_timeline_device_lane(d, PROBE_TL_DEVICE_GPU_PCT);
    probe_timeline_add(timeline, lane, from_ns, to_ns, pct);
    probe_timeline_add(timeline, PROBE_TL_GPU_PCT, from_ns, to_ns, pct);
}

/* What the device's profile gained since the previous snapshot is the mean of the new readings,
 * bucket by bucket. Its buckets are narrow at first and wide later; then the pace of the snapshots
 * is the finer grid. Returns where the newest reading ends. */
static int64_t feed_utilization(probe_timeline_feed *feed, int d, const probe_gpu_device *device) {
    probe_timeline_device *before = &feed->device[d];
    const probe_profile *now = &device->profile;
    if (before->profile.bucket_ns == 0) {
        before->profile.bucket_ns = now->bucket_ns;
    }
    for (int i = 0; i < 40 && before->profile.bucket_ns < now->bucket_ns; i++) {
        probe_profile_widen(&before->profile);
    }
    double highest = -1;
    int64_t highest_ns = 0, newest_ns = 0;
    for (int b = 0; b < PROBE_PROFILE_BUCKETS; b++) {
        int64_t gained_ns = now->covered_ns[b] - before->profile.covered_ns[b];
        if (gained_ns <= 0) {
            continue;
        }
        double pct = (now->weighted[b] - before->profile.weighted[b]) / (double)gained_ns;
        int64_t from_ns = b * now->bucket_ns + before->profile.covered_ns[b];
        newest_ns = from_ns + gained_ns;
        add_gpu_pct(&feed->timeline, d, from_ns, newest_ns, pct);
        if (pct > highest) {
            highest = pct;
            highest_ns = from_ns;
        }
    }
    /* A new peak lies within the new readings; where else but in the busiest of them. */
    if (device->gpu.peak_pct > before->peak_pct && highest >= 0) {
        int lane = probe_timeline_device_lane(d, PROBE_TL_DEVICE_GPU_PCT);
        probe_timeline_raise(&feed->timeline, lane, highest_ns, device->gpu.peak_pct);
        probe_timeline_raise(&feed->timeline, PROBE_TL_GPU_PCT, highest_ns, device->gpu.peak_pct);
        before->peak_pct = device->gpu.peak_pct;
    }
    before->profile = *now;
    return newest_ns;
}

/* The memory controller has no profile: its new readings end where the device's other ones do. */
static void feed_controller(probe_timeline_feed *feed, int d, const probe_gpu_device *device,
                            int64_t until_ns) {
    probe_timeline_device *before = &feed->device[d];
    const probe_utilization *now = &device->memory;
    int64_t gained_ns = now->covered_ns - before->controller.covered_ns;
    if (gained_ns <= 0 || now->pct_ns < before->controller.pct_ns) {
        return;
    }
    double pct = (double)(now->pct_ns - before->controller.pct_ns) / (double)gained_ns;
    int64_t from_ns = until_ns - gained_ns;
    from_ns = from_ns > before->controller_ns ? from_ns : before->controller_ns;
    probe_timeline_add(&feed->timeline, probe_timeline_device_lane(d, PROBE_TL_DEVICE_MEM_BW_PCT),
                       from_ns, from_ns + gained_ns, pct);
    before->controller_ns = from_ns + gained_ns;
    before->controller = *now;
}

/* The new readings of each activity end where the counters were read last. */
static void feed_activity(probe_timeline_feed *feed, int d, const probe_gpu_device *device) {
    probe_gpu_activity *before = &feed->device[d].activity;
    for (int i = 0; i < PROBE_ACTIVITIES; i++) {
        const probe_activity_sum *now = &device->activity.of[i];
        int64_t gained_ns = now->covered_ns - before->of[i].covered_ns;
        if (gained_ns > 0) {
            double pct = (now->pct_ns - before->of[i].pct_ns) / (double)gained_ns;
            int lane = probe_timeline_device_lane(d, PROBE_TL_DEVICE_ACTIVITY + i);
            probe_timeline_add(&feed->timeline, lane, device->activity.until_ns - gained_ns,
                               device->activity.until_ns, pct);
        }
    }
    *before = device->activity;
}

static int64_t later(int64_t a_ns, int64_t b_ns) {
    return a_ns > b_ns ? a_ns : b_ns;
}

/* The time of a hole between two readings stays empty. */
static void feed_memory(probe_timeline_feed *feed, const probe_gpu_snapshot *snapshot) {
    double sum_mib = 0;
    int64_t newest_ns = 0;
    for (int d = 0; d < snapshot->count; d++) {
        const probe_gauge *used = &snapshot->device[d].used;
        if (!used->any) {
            continue;
        }
        double mib = (double)used->last_bytes / 1048576.0;
        int64_t from_ns = later(feed->device[d].memory_ns, used->resumed_ns);
        probe_timeline_add(&feed->timeline, probe_timeline_device_lane(d, PROBE_TL_DEVICE_MEM_MIB),
                           from_ns, used->last_ns, mib);
        feed->device[d].memory_ns = used->last_ns;
        sum_mib += snapshot->device[d].lost ? 0 : mib;
        newest_ns = later(newest_ns, used->last_ns);
        feed->gpu_memory_ns = later(feed->gpu_memory_ns, used->resumed_ns);
    }
    if (newest_ns > feed->gpu_memory_ns) {
        probe_timeline_add(&feed->timeline, PROBE_TL_GPU_MEM_MIB, feed->gpu_memory_ns, newest_ns,
                           sum_mib);
        feed->gpu_memory_ns = newest_ns;
    }
}

void probe_timeline_feed_gpu(probe_timeline_feed *feed, const probe_gpu_snapshot *snapshot) {
    if (snapshot->written_ns <= feed->gpu_ns) {
        return;
    }
    feed->gpu_ns = snapshot->written_ns;
    for (int d = 0; d < snapshot->count; d++) {
        int64_t until_ns = feed_utilization(feed, d, &snapshot->device[d]);
        feed_controller(feed, d, &snapshot->device[d], until_ns);
        feed_activity(feed, d, &snapshot->device[d]);
    }
    feed_memory(feed, snapshot);
}
