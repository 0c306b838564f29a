#include "check.h"
#include "clock.h"
#include "timeline.h"
#include "timeline_feed.h"

#include <math.h>
#include <stdlib.h>

#define MS PROBE_NS_PER_MS

static probe_timeline timeline;
static char text[8 << 20];

static void fresh(void) {
    memset(&timeline, 0, sizeof timeline);
    probe_timeline_init(&timeline);
}

static double mean(int lane, int bucket) {
    return (double)timeline.lane[lane].mean[bucket];
}

static double max(int lane, int bucket) {
    return (double)timeline.lane[lane].max[bucket];
}

static void a_value_is_weighted_by_the_time_it_held(void) {
    fresh();
    probe_timeline_add(&timeline, 0, -50 * MS, 25 * MS, 100); /* what lies before 0 is left out */
    probe_timeline_add(&timeline, 0, 25 * MS, 150 * MS, 20);
    CHECK_INT(timeline.length, 2);
    CHECK(fabs(mean(0, 0) - 40) < 1e-4);
    CHECK_INT(max(0, 0), 100);
    CHECK_INT(mean(0, 1), 20);
    CHECK(timeline.used[0] && !timeline.used[1]);
    probe_timeline_add(&timeline, 1, 5, 5, 1); /* no time */
    probe_timeline_add(&timeline, 1, 0, INT64_MAX, 1);
    CHECK(timeline.used[0] && !timeline.used[1]);
}

static void any_length_fits(void) {
    fresh();
    const int64_t step = 1000 * MS, steps = 40 * 24 * 3600;
    for (int64_t i = 0; i < steps; i++) { /* 40 days */
        probe_timeline_add(&timeline, 3, i * step, (i + 1) * step, 64e9);
        probe_timeline_add(&timeline, 0, i * step, (i + 1) * step, i % 2 == 0 ? 10 : 30);
    }
    probe_timeline_add(&timeline, 0, (steps - 1) * step, steps * step, 99);
    CHECK(timeline.length > PROBE_TIMELINE_BUCKETS / 2);
    CHECK(timeline.length <= PROBE_TIMELINE_BUCKETS);
    CHECK(timeline.bucket_ns * timeline.length >= steps * step);
    for (int b = 0; b < timeline.length - 1; b++) {
        CHECK(fabs(mean(3, b) - 64e9) < 64e9 * 1e-6);
        CHECK(fabs(mean(0, b) - 20) < 0.05);
        CHECK_INT(max(0, b), 30);
    }
    CHECK_INT(max(0, timeline.length - 1), 99);
}

static void buckets_without_readings_stay_so(void) {
    fresh();
    probe_timeline_add(&timeline, 0, 0, 100 * MS, 5);
    probe_timeline_add(&timeline, 0, 300 * MS, 400 * MS, 7);
    probe_timeline_add(&timeline, 1, 0, 400 * MS, 1);
    probe_timeline_raise(&timeline, 0, 350 * MS, 9);
    probe_timeline_raise(&timeline, 0, 150 * MS, 9); /* nothing there to raise */
    const probe_timeline_origin origin = {.run_id = "ab", .start_ms = 7};
    size_t length = 0;
    CHECK_INT(probe_timeline_to_json(&timeline, &origin, text, sizeof text, &length), PROBE_OK);
    CHECK(strstr(text, "\"bucket_ms\": 100,") != NULL);
    CHECK(strstr(text, "\"mean\": [5.0, null, null, 7.0]") != NULL);
    CHECK(strstr(text, "\"max\": [5.0, null, null, 9.0]") != NULL);
    CHECK(strstr(text, "\"mean\": [1, 1, 1, 1]") != NULL);
    CHECK(strstr(text, "gpu") == NULL);
    CHECK(length <= probe_timeline_json_size(&timeline));
    CHECK_INT(probe_timeline_to_json(&timeline, &origin, text, 100, &length), PROBE_E_OVERFLOW);
}

static void sixteen_full_devices_fit_their_text(void) {
    static probe_gpu_snapshot gpu;
    fresh();
    gpu.count = PROBE_GPU_MAX;
    for (int d = 0; d < PROBE_GPU_MAX; d++) {
        memset(gpu.device[d].uuid, '\x01', sizeof gpu.device[d].uuid - 1); /* escapes are longest */
    }
    for (int lane = 0; lane < PROBE_TL_LANES; lane++) {
        probe_timeline_add(&timeline, lane, 0, PROBE_TIMELINE_BUCKETS * 100 * MS, 8e14);
    }
    const probe_timeline_origin origin = {.run_id = "ab", .start_ms = 7, .gpu = &gpu};
    size_t length = 0, size = probe_timeline_json_size(&timeline);
    CHECK(size <= sizeof text);
    CHECK_INT(probe_timeline_to_json(&timeline, &origin, text, size, &length), PROBE_OK);
}

/* One device whose driver told pct for the time up to until_ns. */
static void tell(probe_gpu_snapshot *gpu, int64_t from_ns, int64_t until_ns, uint32_t pct) {
    probe_gpu_device *device = &gpu->device[0];
    probe_utilization_add(&device->gpu, from_ns, until_ns, pct);
    probe_utilization_add(&device->memory, from_ns, until_ns, pct / 2);
    probe_profile_add(&device->profile, from_ns, until_ns, pct);
    probe_gauge_add(&device->used, until_ns, (uint64_t)pct << 20);
    probe_activity_sum *tensor = &device->activity.of[PROBE_ACTIVITY_TENSOR];
    tensor->covered_ns += until_ns - from_ns;
    tensor->pct_ns += (double)pct / 4 * (double)(until_ns - from_ns);
    device->activity.until_ns = until_ns;
    gpu->written_ns = until_ns;
}

static void snapshots_become_a_history(void) {
    static probe_gpu_snapshot gpu;
    probe_timeline_feed *feed = probe_timeline_feed_open();
    CHECK(feed != NULL);
    if (feed == NULL) {
        return;
    }
    gpu.count = 1;
    probe_profile_init(&gpu.device[0].profile, 100 * MS);
    for (int64_t s = 0; s < 60; s++) { /* the profile's own buckets widen to more than a second */
        tell(&gpu, s * 1000 * MS, (s + 1) * 1000 * MS, s % 2 == 0 ? 80 : 20);
        probe_timeline_feed_gpu(feed, &gpu);
        probe_timeline_feed_gpu(feed, &gpu); /* seen before */
    }
    const int lanes[] = {PROBE_TL_GPU_PCT, PROBE_TL_METRICS + PROBE_TL_DEVICE_GPU_PCT};
    for (size_t i = 0; i < 2; i++) {
        for (int b = 0; b < 600; b++) {
            double expected = b / 10 % 2 == 0 ? 80 : 20;
            CHECK(fabs((double)feed->timeline.lane[lanes[i]].mean[b] - expected) < 1e-3);
        }
    }
    int controller = probe_timeline_device_lane(0, PROBE_TL_DEVICE_MEM_BW_PCT);
    CHECK(fabs((double)feed->timeline.lane[controller].mean[5] - 40) < 1e-3);
    CHECK(fabs((double)feed->timeline.lane[controller].mean[599] - 10) < 1e-3);
    int tensor = probe_timeline_device_lane(0, PROBE_TL_DEVICE_ACTIVITY + PROBE_ACTIVITY_TENSOR);
    CHECK(fabs((double)feed->timeline.lane[tensor].mean[5] - 20) < 1e-3);
    CHECK(fabs((double)feed->timeline.lane[tensor].mean[599] - 5) < 1e-3);
    CHECK(!feed->timeline.used[tensor + 1]);
    CHECK_INT(feed->timeline.lane[PROBE_TL_GPU_MEM_MIB].mean[15], 20);
    CHECK_INT(feed->timeline.length, 600);
    /* A driver sample above the means of what the snapshot gained is the maximum of its time. */
    tell(&gpu, 60000 * MS, 61000 * MS, 50);
    gpu.device[0].gpu.peak_pct = 97;
    probe_timeline_feed_gpu(feed, &gpu);
    CHECK_INT(feed->timeline.lane[PROBE_TL_GPU_PCT].max[600], 97);
    CHECK_INT(feed->timeline.lane[PROBE_TL_GPU_PCT].mean[600], 50);
    probe_timeline_feed_close(feed);
}

static void cpu_time_becomes_a_share(void) {
    probe_timeline_feed *feed = probe_timeline_feed_open();
    CHECK(feed != NULL);
    if (feed == NULL) {
        return;
    }
    feed->cpus = 4;
    const probe_timeline_lane *lane = &feed->timeline.lane[PROBE_TL_CPU_PCT];
    probe_timeline_feed_cpu(feed, 100 * MS, 150000, false);
    probe_timeline_feed_cpu(feed, 110 * MS, 160000, false); /* too close to tell */
    probe_timeline_feed_cpu(feed, 300 * MS, 250000, false);
    CHECK_INT(lane->mean[0], 150);
    CHECK_INT(lane->mean[1], 50);
    CHECK_INT(lane->mean[2], 50);
    probe_timeline_feed_cpu(feed, 400 * MS, 10000000, false); /* more than four CPUs can do */
    CHECK_INT(lane->max[3], 400);
    probe_timeline_feed_close(feed);
    feed = probe_timeline_feed_open();
    CHECK(feed != NULL);
    if (feed != NULL) { /* a task of 5 ms has one reading, the exact one */
        probe_timeline_feed_cpu(feed, 5 * MS, 2500, true);
        CHECK_INT(feed->timeline.lane[PROBE_TL_CPU_PCT].mean[0], 50);
    }
    probe_timeline_feed_close(feed);
}

int main(void) {
    a_value_is_weighted_by_the_time_it_held();
    any_length_fits();
    buckets_without_readings_stay_so();
    sixteen_full_devices_fit_their_text();
    snapshots_become_a_history();
    cpu_time_becomes_a_share();
    return check_failures();
}
