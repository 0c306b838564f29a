/* Reads one device through the ladder of sources: the driver's own ring of samples, else polled
 * rates, else nothing. */
#ifndef PROBE_NVML_DEVICE_H
#define PROBE_NVML_DEVICE_H

#include "gpu_page.h"
#include "nvml_api.h"
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* One ring of driver samples. */
typedef struct {
    bool supported;
    bool has_previous;
    bool broken;                     /* the driver's clock has stepped since the last entry */
    unsigned long long last_seen_us; /* as the driver counts */
    int64_t previous_ns;             /* end of the last interval, since the start of the task */
    int64_t period_ns;               /* median spacing; 0: not known yet */
    unsigned int capacity;
} nvml_ring;

typedef struct {
    nvml_device handle;
    probe_gpu_device *out; /* in the helper's snapshot */
    nvml_ring gpu_ring, memory_ring;
    int64_t (*clock_ns)(clockid_t id);
    bool clock_known, stepped_back;
    clockid_t driver_clock;  /* what the driver stamps with; CLOCK_MONOTONIC: a clock of its own */
    int64_t clock_offset_ns; /* driver time minus time since the start of the task */
    int64_t start_ns;        /* of the task, CLOCK_MONOTONIC */
    bool rates_absent;       /* the driver will never tell; do not ask again */
    int64_t previous_rates_ns;
    bool energy_known;
    unsigned long long energy_start_mj;
    nvml_sample *samples; /* room for samples_size of them, from malloc, kept for life */
    unsigned int samples_size;
} nvml_reader;

/* What a return code means for what comes next. */
typedef enum {
    NVML_GOOD,
    NVML_FEATURE_ABSENT,
    NVML_TRANSIENT,
    NVML_DEVICE_GONE,
    NVML_LIBRARY_GONE
} nvml_class;
nvml_class nvml_classify(nvml_return code);

/* Prepares the reader, reads what does not change (name, uuid) and the start value of the energy
 * counter. out: zeroed, in the snapshot. */
nvml_class nvml_reader_open(nvml_reader *reader, const nvml_api *api, nvml_device handle, int index,
                            probe_gpu_device *out);

/* Memory in use at now_ns (since the start of the task). */
nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns);

/* Utilization up to now_ns; busy intervals also go to u. Returns up to when the device's history is
 * known (to settle u) in known_ns. */
nvml_class nvml_reader_utilization(nvml_reader *reader, const nvml_api *api, int64_t now_ns,
                                   probe_union *u, int64_t *known_ns);

/* Throttle reasons now; with energy, the energy counter too. */
nvml_class nvml_reader_health(nvml_reader *reader, const nvml_api *api, bool energy);

#endif
