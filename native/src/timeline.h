/* The history of a measurement in bounded memory: at most PROBE_TIMELINE_BUCKETS means and maxima
 * of equal width for each metric, whatever the length of the task. Pure arithmetic: times are ns
 * since the start, handed in by the caller. */
#ifndef PROBE_TIMELINE_H
#define PROBE_TIMELINE_H

#include "gpu_page.h"
#include "probe_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_TIMELINE_BUCKETS = 1024 };

/* Of the whole task; the lanes of the devices come behind them. */
typedef enum {
    PROBE_TL_CPU_PCT, /* of one CPU */
    PROBE_TL_RSS_KIB,
    PROBE_TL_PROCESSES,
    PROBE_TL_CGROUP_MEMORY_BYTES,
    PROBE_TL_GPU_PCT,     /* of all devices together */
    PROBE_TL_GPU_MEM_MIB, /* their sum */
    PROBE_TL_METRICS
} probe_timeline_metric;

typedef enum {
    PROBE_TL_DEVICE_GPU_PCT,
    PROBE_TL_DEVICE_MEM_MIB,
    PROBE_TL_DEVICE_MEM_BW_PCT,
    PROBE_TL_DEVICE_ACTIVITY, /* the first of probe_activity */
    PROBE_TL_DEVICE_METRICS = PROBE_TL_DEVICE_ACTIVITY + PROBE_ACTIVITIES
} probe_timeline_device_metric;

enum { PROBE_TL_LANES = PROBE_TL_METRICS + PROBE_GPU_MAX * PROBE_TL_DEVICE_METRICS };

/* 32 bits are enough for a picture, and keep 16 devices without GPM within 600 KiB. */
typedef struct {
    float mean[PROBE_TIMELINE_BUCKETS], max[PROBE_TIMELINE_BUCKETS];
    float covered_ms[PROBE_TIMELINE_BUCKETS]; /* 0: no reading */
} probe_timeline_lane;

/* All zero is not a timeline: see probe_timeline_init. A lane without readings is never touched, so
 * that fresh pages of it cost nothing. */
typedef struct {
    int64_t bucket_ns;         /* width; doubles whenever the history outgrows the buckets */
    int length;                /* buckets up to the last one with a reading */
    bool used[PROBE_TL_LANES]; /* has readings */
    probe_timeline_lane lane[PROBE_TL_LANES];
} probe_timeline;

/* timeline: zeroed, from the caller. */
void probe_timeline_init(probe_timeline *timeline);

/* The lane of one device's metric, a probe_timeline_device_metric or PROBE_TL_DEVICE_ACTIVITY + a
 * probe_activity; device below PROBE_GPU_MAX. */
int probe_timeline_device_lane(int device, int metric);

/* The value held from from_ns to to_ns. What lies before 0 is left out. */
void probe_timeline_add(probe_timeline *timeline, int lane, int64_t from_ns, int64_t to_ns,
                        double value);

/* The value was seen at at_ns for an unknown time: lifts the maximum of a bucket that has readings.
 */
void probe_timeline_raise(probe_timeline *timeline, int lane, int64_t at_ns, double value);

/* What a timeline is of; strings are the caller's. */
typedef struct {
    const char *run_id;            /* as in the trace */
    int64_t start_ms;              /* wall clock, ms since 1970 */
    const probe_gpu_snapshot *gpu; /* names the devices; NULL: none */
} probe_timeline_origin;

/* Bytes that the text needs at most. */
size_t probe_timeline_json_size(const probe_timeline *timeline);

/* Writes the content of timeline.json. PROBE_E_OVERFLOW when it does not fit into size bytes. */
probe_status probe_timeline_to_json(const probe_timeline *timeline,
                                    const probe_timeline_origin *origin, char *buf, size_t size,
                                    size_t *length);

#endif
