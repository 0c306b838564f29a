/* What is kept of one device between two readings. Each job on it (ring, rates, memory, health,
 * clock) has a file of its own, and a part of this. */
#ifndef PROBE_NVML_READER_H
#define PROBE_NVML_READER_H

#include "gpu_page.h"
#include "nvml_api.h"
#include "nvml_classify.h"
#include "nvml_rung.h"
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* One ring of driver samples. */
typedef struct {
    bool supported;
    bool has_previous;
    bool broken;                     /* the driver's clock has stepped since the last entry */
    bool idle;                       /* it is dry, and the device is known to be idle */
    bool contradicted;               /* it is dry, and the device was busy */
    unsigned long long last_seen_us; /* as the driver counts; 0: it has not told anything yet */
    int64_t previous_ns;             /* end of the last interval, since the start of the task */
    int64_t period_ns;               /* usual spacing; 0: not known yet */
    unsigned int capacity;           /* as the driver says */
    unsigned int depth;              /* most entries that came at once */
} nvml_ring;

/* Two samples of GPM counters, used in turn. */
typedef struct {
    nvml_rung rung;
    bool ready;           /* the device has GPM */
    bool by_handle;       /* an instance's counters come by its handle */
    unsigned int refused; /* bit per metric that the device does not have */
    void *sample[2];
    int previous; /* which of them is the older one */
    bool has_previous;
    int64_t previous_ns; /* since the start of the task */
} nvml_gpm;

/* The rates of the moment, of which one reading serves both rings. */
typedef struct {
    bool asked;
    nvml_return code;
    nvml_utilization pct;
} nvml_rates_now;

/* The counters at the start of the task, and what the driver will never tell. */
typedef struct {
    unsigned int refused; /* bit per question, see nvml_health.c */
    bool energy_known, ecc_known[NVML_ECC_TYPES];
    unsigned long long energy_mj, ecc[NVML_ECC_TYPES];
    int64_t energy_ns; /* when the counter was read, since the start of the task */
    int64_t busy_ns;   /* how long the device had been busy at the last reading */
} nvml_health;

/* How old the newest entry of a drain was, to find a clock that is behind. */
typedef struct {
    int drains; /* in a row that were alike */
    bool fresh; /* entries have come as soon as they were made: the clock is right */
    int64_t age_ns;
} nvml_lag;

typedef struct {
    nvml_device handle;
    nvml_device parent;    /* of a MIG instance; NULL: a whole device */
    probe_gpu_device *out; /* in the helper's snapshot */
    nvml_ring gpu_ring, memory_ring;
    nvml_rung ring_rung, rates_rung;
    int ring_wakes; /* how often in a row it was asked before its time, in vain */
    int64_t (*clock_ns)(clockid_t id);
    bool clock_known, stepped_back;
    clockid_t driver_clock;  /* what the driver stamps with; CLOCK_MONOTONIC: a clock of its own */
    int64_t clock_offset_ns; /* driver time minus time since the start of the task */
    int64_t clock_lag_ns;    /* by which the driver's clock is behind driver_clock */
    nvml_lag lag;
    int64_t start_ns; /* of the task, CLOCK_MONOTONIC */
    int64_t previous_rates_ns;
    unsigned int previous_rate_pct; /* of the device, at previous_rates_ns */
    nvml_gpm gpm;
    nvml_rates_now rates;
    nvml_health health;
    bool memory_absent;    /* the driver will never tell; do not ask again */
    int memory_failures;   /* in a row */
    int64_t memory_gap_ns; /* between the last two readings; 0: failures lay between them */
    int64_t interval_ns;   /* between two readings, as asked for */
    nvml_rung memory_rung;
    int64_t next_utilization_ns; /* when it is due */
    int64_t known_ns;            /* up to when utilization is told */
    bool activity_follows;       /* the activity has its turn: utilization was read */
    uint64_t
        shared_memory_bytes; /* of the host, where the device's memory is that; 0: it has its own */
    nvml_sample *samples;    /* room for samples_size of them, from malloc, kept for life */
    unsigned int samples_size;
} nvml_reader;

#endif
