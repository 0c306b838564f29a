/* How a device fared: what the helper publishes of it beside its load. Figures without their
 * ..._valid are not known. */
#ifndef PROBE_GPU_HEALTH_H
#define PROBE_GPU_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* Between two looks at temperature, clocks and events. Together with memory and utilization that is
 * three calls per device and second at most, also where rates are polled. */
#define PROBE_HEALTH_PAUSE_NS INT64_C(5000000000)

enum { PROBE_XIDS_MAX = 16, PROBE_ECC_EVENTS_MAX = 16, PROBE_XID_UNKNOWN = 999 };

typedef struct {
    uint64_t number; /* NVIDIA's: 31 is a page fault, 79 a device that fell off the bus; or
                        PROBE_XID_UNKNOWN */
    int64_t read_ns; /* when it was read, since the start of the task */
} probe_xid;

typedef struct {
    bool energy_valid, throttle_valid, temp_valid, sm_clock_valid, power_limit_valid;
    /* The device has it, but a reading failed, or the second one has not come. */
    bool energy_missed, temp_missed, ecc_corrected_missed, ecc_uncorrected_missed;
    uint64_t energy_mj;     /* between two reads of the counter */
    int64_t energy_ns;      /* the time between them */
    uint64_t throttle_bits; /* NVML_REASON_..., all that were seen */
    int64_t throttle_ns;    /* up to when they are known, since the start of the task */
    uint32_t peak_temp_c;
    uint32_t min_sm_clock_mhz, max_sm_clock_mhz; /* while busy */
    uint32_t power_limit_mw;                     /* at the start */
    bool ecc_corrected_valid, ecc_uncorrected_valid;
    uint64_t ecc_corrected, ecc_uncorrected; /* errors since the start */
    bool repair_valid, repair_pending;       /* memory is remapped or retired at the next reset */
    bool events_valid;                       /* the driver reports events of this device */
    int64_t events_ns; /* up to when they were read, since the start of the task */
    uint32_t double_bit_events;
    int64_t double_bit_ns[PROBE_ECC_EVENTS_MAX]; /* when the first of them were read */
    uint32_t xids; /* all that came. When there are more than PROBE_XIDS_MAX, the first ones of each
                      number are kept, as far as there is room, and the newest one */
    probe_xid xid[PROBE_XIDS_MAX]; /* in the order in which they came */
} probe_gpu_health;

#endif
