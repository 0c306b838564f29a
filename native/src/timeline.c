#include "timeline.h"

#include "clock.h"
#include "json.h"
#include "trace_gpu_activity.h"
#include <stdbool.h>

static const int64_t first_bucket_ns = 100 * PROBE_NS_PER_MS;

void probe_timeline_init(probe_timeline *timeline) {
    timeline->bucket_ns = first_bucket_ns;
}

int probe_timeline_device_lane(int device, int metric) {
    return PROBE_TL_METRICS + device * PROBE_TL_DEVICE_METRICS + metric;
}

static bool has_readings(const probe_timeline *timeline, int lane) {
    return timeline->used[lane];
}

static void add_part(probe_timeline_lane *lane, int bucket, double ms, double value, double max) {
    double covered = (double)lane->covered_ms[bucket];
    double mean = (double)lane->mean[bucket];
    if (covered <= 0 || max > (double)lane->max[bucket]) {
        lane->max[bucket] = (float)max;
    }
    /* Moving the mean, instead of keeping a sum, leaves a constant exactly as it is. */
    lane->mean[bucket] =
        covered <= 0 ? (float)value : (float)(mean + (value - mean) * ms / (covered + ms));
    lane->covered_ms[bucket] = (float)(covered + ms);
}

static void halve_resolution(probe_timeline *timeline) {
    for (int i = 0; i < PROBE_TL_LANES; i++) {
        probe_timeline_lane *lane = &timeline->lane[i];
        for (int b = 0; has_readings(timeline, i) && b < timeline->length; b++) {
            const double ms = (double)lane->covered_ms[b];
            const double mean = (double)lane->mean[b], max = (double)lane->max[b];
            lane->covered_ms[b] = 0;
            if (ms > 0) {
                add_part(lane, b / 2, ms, mean, max);
            }
        }
    }
    timeline->length = (timeline->length + 1) / 2;
    timeline->bucket_ns *= 2;
}

void probe_timeline_add(probe_timeline *timeline, int lane, int64_t from_ns, int64_t to_ns,
                        double value) {
    from_ns = from_ns > 0 ? from_ns : 0;
    if (to_ns <= from_ns || to_ns > INT64_MAX / 4) {
        return;
    }
    while (to_ns > timeline->bucket_ns * PROBE_TIMELINE_BUCKETS) {
        halve_resolution(timeline);
    }
    timeline->used[lane] = true;
    int bucket = 0;
    while (from_ns < to_ns) {
        bucket = (int)(from_ns / timeline->bucket_ns);
        int64_t end = (bucket + 1) * timeline->bucket_ns;
        int64_t part = (end < to_ns ? end : to_ns) - from_ns;
        add_part(&timeline->lane[lane], bucket, (double)part / PROBE_NS_PER_MS, value, value);
        from_ns += part;
    }
    timeline->length = bucket + 1 > timeline->length ? bucket + 1 : timeline->length;
}

void probe_timeline_raise(probe_timeline *timeline, int lane, int64_t at_ns, double value) {
    int64_t bucket = at_ns / timeline->bucket_ns;
    if (at_ns >= 0 && bucket < timeline->length && has_readings(timeline, lane)) {
        probe_timeline_lane *l = &timeline->lane[lane];
        if (l->covered_ms[bucket] > 0 && value > (double)l->max[bucket]) {
            l->max[bucket] = (float)value;
        }
    }
}

typedef struct {
    const char *name, *unit;
    int decimals;
} description;

static void write_values(probe_json *json, const char *key, const probe_timeline_lane *lane,
                         const float *values, int length, int decimals) {
    probe_json_open_inline(json, key, '[');
    for (int b = 0; b < length; b++) {
        if (lane->covered_ms[b] > 0) {
            probe_json_fixed(json, NULL, (double)values[b], decimals);
        } else {
            probe_json_null(json, NULL);
        }
    }
    probe_json_close(json, ']');
}

static void write_lane(probe_json *json, const probe_timeline *timeline, int index,
                       const description *what) {
    if (!has_readings(timeline, index)) {
        return;
    }
    const probe_timeline_lane *lane = &timeline->lane[index];
    probe_json_open(json, what->name, '{');
    probe_json_string(json, "unit", what->unit);
    write_values(json, "mean", lane, lane->mean, timeline->length, what->decimals);
    write_values(json, "max", lane, lane->max, timeline->length, what->decimals);
    probe_json_close(json, '}');
}

static void write_device(probe_json *json, const probe_timeline *timeline, int d,
                         const probe_gpu_device *device) {
    static const description metrics[PROBE_TL_DEVICE_ACTIVITY] = {
        [PROBE_TL_DEVICE_GPU_PCT] = {"gpu_pct", "%", 1},
        [PROBE_TL_DEVICE_MEM_MIB] = {"gpu_mem_mib", "MiB", 0},
        [PROBE_TL_DEVICE_MEM_BW_PCT] = {"gpu_mem_bw_pct", "%", 1},
    };
    probe_json_open(json, NULL, '{');
    probe_json_int(json, "index", device->index);
    if (device->uuid[0] != '\0') {
        probe_json_string(json, "uuid", device->uuid);
    }
    for (int i = 0; i < PROBE_TL_DEVICE_METRICS; i++) {
        int lane = probe_timeline_device_lane(d, i);
        int activity = i - PROBE_TL_DEVICE_ACTIVITY;
        const description of_activity = {
            activity >= 0 ? probe_activity_name((probe_activity)activity) : "", "%", 1};
        write_lane(json, timeline, lane, activity >= 0 ? &of_activity : &metrics[i]);
    }
    probe_json_close(json, '}');
}

size_t probe_timeline_json_size(const probe_timeline *timeline) {
    size_t lanes = 0;
    for (int i = 0; i < PROBE_TL_LANES; i++) {
        lanes += has_readings(timeline, i);
    }
    return 16 * 1024 + lanes * (2 * (size_t)timeline->length * 24 + 256);
}

probe_status probe_timeline_to_json(const probe_timeline *timeline,
                                    const probe_timeline_origin *origin, char *buf, size_t size,
                                    size_t *length) {
    static const description metrics[PROBE_TL_METRICS] = {
        [PROBE_TL_CPU_PCT] = {"cpu_pct", "%", 1},
        [PROBE_TL_RSS_KIB] = {"rss_kib", "KiB", 0},
        [PROBE_TL_PROCESSES] = {"processes", "count", 1},
        [PROBE_TL_CGROUP_MEMORY_BYTES] = {"cgroup_memory_bytes", "bytes", 0},
        [PROBE_TL_GPU_PCT] = {"gpu_pct", "%", 1},
        [PROBE_TL_GPU_MEM_MIB] = {"gpu_mem_mib", "MiB", 0},
    };
    probe_json json;
    probe_json_begin(&json, buf, size);
    probe_json_open(&json, NULL, '{');
    probe_json_int(&json, "schema", 1);
    probe_json_string(&json, "run_id", origin->run_id);
    probe_json_int(&json, "start_ms", origin->start_ms);
    probe_json_int(&json, "bucket_ms", timeline->bucket_ns / PROBE_NS_PER_MS);
    probe_json_int(&json, "buckets", timeline->length);
    probe_json_open(&json, "metrics", '{');
    for (int i = 0; i < PROBE_TL_METRICS; i++) {
        write_lane(&json, timeline, i, &metrics[i]);
    }
    probe_json_close(&json, '}');
    probe_json_open(&json, "devices", '[');
    for (int d = 0; origin->gpu != NULL && d < origin->gpu->count; d++) {
        write_device(&json, timeline, d, &origin->gpu->device[d]);
    }
    probe_json_close(&json, ']');
    probe_json_close(&json, '}');
    return probe_json_end(&json, length);
}
