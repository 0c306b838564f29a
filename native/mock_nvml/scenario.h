/* What the mock plays: the driver, its devices, their loads over time and the faults to inject. */
#ifndef MOCK_SCENARIO_H
#define MOCK_SCENARIO_H

#include "nvml_types.h"
#include "series.h"
#include <stdio.h>

enum {
    MOCK_DEVICES_MAX = 16,
    MOCK_MIGS_MAX = 112, /* of all devices together */
    MOCK_MIG_INDEX_MAX = 15,
    MOCK_POINTS_MAX = 1 << 16, /* of all series together */
    MOCK_PROCESSES_MAX = 256,
    MOCK_RULES_MAX = 128,
    MOCK_EVENTS_MAX = 256,
    MOCK_GLOB_SIZE = 64,
    MOCK_RING_MAX = 1000,
    MOCK_ERROR_SIZE = 512,
};

enum { MOCK_CLOCK_EPOCH, MOCK_CLOCK_BOOT, MOCK_CLOCK_RELATIVE };
enum { MOCK_ORDER_ASCENDING, MOCK_ORDER_DESCENDING };
/* What a memory call says in place of the truth, as the words of MOCK_MEMORY_FAULTS. */
enum {
    MOCK_MEMORY_GOOD,
    MOCK_MEMORY_FREE_0,
    MOCK_MEMORY_OVER,
    MOCK_MEMORY_TOTAL_0,
    MOCK_MEMORY_ALL_ONES,
};
#define MOCK_MEMORY_FAULTS "good|free_0|over|total_0|all_ones"

enum { MOCK_MIG_NONE, MOCK_MIG_OFF, MOCK_MIG_ON };

typedef enum {
    MOCK_UTIL,     /* percent */
    MOCK_MEMUTIL,  /* percent */
    MOCK_MEM,      /* MiB */
    MOCK_POWER,    /* watts */
    MOCK_THROTTLE, /* bit mask */
    MOCK_SM,       /* percent, as the next three */
    MOCK_OCCUPANCY,
    MOCK_TENSOR,
    MOCK_DRAM,
    MOCK_TEMP, /* degrees Celsius, as the next */
    MOCK_MEM_TEMP,
    MOCK_CLOCK_SM, /* MHz, as the next */
    MOCK_CLOCK_MEM,
    MOCK_ECC_SBE, /* counts, as the rest */
    MOCK_ECC_DBE,
    MOCK_REMAPPED,
    MOCK_RETIRED,
    MOCK_SERIES_COUNT,
} mock_series_kind;

/* Numbers are int64_t throughout, so that one table-driven reader fills them all. */
typedef struct {
    char name[NVML_NAME_SIZE], uuid[NVML_UUID_SIZE];
    int64_t mem_mib, reserved_mib, power_micro_w, temp_c, energy_mj;
    char serial[32]; /* "": not supported */
    int64_t pci_domain, pci_bus, pci_device;
    char pci_text[32];                          /* as written; "": not given */
    int64_t minor, numa;                        /* -1: not given */
    int64_t arch;                               /* NVML's number less 2; -1: not supported */
    int64_t compute_micro;                      /* compute capability; 0: not supported */
    int64_t max_sm_mhz, max_mem_mhz, video_mhz; /* 0: not supported */
    int64_t ecc, gpm;                           /* 1: supported */
    int64_t remapped_corrected, remap_pending, remap_failed;
    int64_t memory_v1, memory_v2; /* MOCK_MEMORY_* */
    int64_t mig, mig_max;         /* MOCK_MIG_*; the most instances that there can be */
    int64_t mig_parent_memory;    /* 0: the memory of the whole device needs privileges */
    int64_t accounting;           /* 0 or 1; at first what the driver line says */
    bool garbage_name, garbage_endless, garbage_records, garbage_processes;
    mock_series series[MOCK_SERIES_COUNT]; /* a count of 0: not given */
} mock_device;

/* A compute instance of a device that is divided. */
typedef struct {
    char name[NVML_NAME_SIZE], uuid[NVML_UUID_SIZE];
    int64_t device, index, gi, ci, mem_mib, slices, compute_slices, multiprocessors;
    mock_series series[MOCK_SERIES_COUNT];
} mock_mig;

/* Processes that the scenario cannot name by number, in place of a pid. */
enum { MOCK_PID_SELF = -1, MOCK_PID_CHILD = -2, MOCK_PID_FOREIGN = -3 };

/* One phase of a process's life on a device: several may have the same pid. */
typedef struct {
    int64_t device, pid, t0_ns, t1_ns;
    int64_t mig;                      /* index of the instance that it runs on; -1: none */
    int64_t mem_mib, mem_unknown;     /* unknown: the driver says all-ones */
    int64_t peak_mib, peak_ns;        /* a short allocation that only accounting shows */
    int64_t sm_micro, mem_util_micro; /* millionths of a percent */
    int64_t kind;                     /* of MOCK_PROCESS_KINDS */
} mock_process;

/* Something that the driver tells those who listen. */
typedef struct {
    int64_t device, mig;      /* -1: not of an instance */
    int64_t t_ns, type, data; /* type: of MOCK_EVENT_TYPES */
} mock_event;
#define MOCK_EVENT_TYPES "xid|ecc_dbe|ecc_sbe|gpu_unavailable|recovery"

typedef enum { MOCK_FAIL, MOCK_DELAY, MOCK_HANG, MOCK_CRASH } mock_rule_kind;

/* One fault: it applies to calls of matching functions (and device and instance, unless that is -1)
 * at times from_ns <= t < to_ns whose ordinal among such calls is within call_first..call_last. */
typedef struct {
    mock_rule_kind kind;
    char glob[MOCK_GLOB_SIZE];
    int64_t device, mig, from_ns, to_ns, call_first, call_last;
    int64_t chance_micro, seed; /* strikes that part, in millionths, of these calls */
    int64_t sticky;   /* 1: once it has struck, every call that matches but for the time */
    int64_t field;    /* of nvmlDeviceGetFieldValues: only this value; -1: the whole call */
    int64_t code;     /* of MOCK_FAIL */
    int64_t delay_us; /* of MOCK_DELAY */
} mock_rule;

typedef struct {
    char driver_version[NVML_DRIVER_SIZE];
    bool garbage_driver;
    int64_t period_ms, ring, clock, order, dry_when_idle, process_stride, accounting;
    int64_t global_lock; /* 1: one call at a time, as behind the lock of the resource manager */
    mock_device devices[MOCK_DEVICES_MAX];
    mock_mig migs[MOCK_MIGS_MAX];
    mock_process processes[MOCK_PROCESSES_MAX];
    mock_rule rules[MOCK_RULES_MAX];
    mock_point points[MOCK_POINTS_MAX];
    mock_event events[MOCK_EVENTS_MAX];
    int64_t cuda_version;
    int64_t event_count, device_count, mig_count, process_count, rule_count, point_count;
} mock_scenario;

/* The instance with this index on a device, or NULL. */
const mock_mig *mock_scenario_mig(const mock_scenario *scenario, int64_t device, int64_t index);

/* Reads a scenario from text; source names it in messages. The scenario is filled in place and must
 * not be copied (its series point into it). False: error holds "SOURCE:LINE: what is wrong". */
bool mock_scenario_read(FILE *text, const char *source, mock_scenario *scenario,
                        char error[MOCK_ERROR_SIZE]);

/* The file at path, or the built-in scenario when path is NULL: one device, half busy. */
bool mock_scenario_load(const char *path, mock_scenario *scenario, char error[MOCK_ERROR_SIZE]);

#endif
