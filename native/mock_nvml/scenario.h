/* What the mock plays: the driver, its devices, their loads over time and the faults to inject. */
#ifndef MOCK_SCENARIO_H
#define MOCK_SCENARIO_H

#include "nvml_types.h"
#include "series.h"
#include <stdio.h>

enum {
    MOCK_DEVICES_MAX = 16,
    MOCK_POINTS_MAX = 1 << 16, /* of all series together */
    MOCK_PROCESSES_MAX = 256,
    MOCK_RULES_MAX = 128,
    MOCK_GLOB_SIZE = 64,
    MOCK_RING_MAX = 1000,
    MOCK_ERROR_SIZE = 512,
};

enum { MOCK_CLOCK_EPOCH, MOCK_CLOCK_BOOT, MOCK_CLOCK_RELATIVE };
enum { MOCK_ORDER_ASCENDING, MOCK_ORDER_DESCENDING };

typedef enum {
    MOCK_UTIL,     /* percent */
    MOCK_MEMUTIL,  /* percent */
    MOCK_MEM,      /* MiB */
    MOCK_POWER,    /* watts */
    MOCK_THROTTLE, /* bit mask */
    MOCK_SERIES_COUNT,
} mock_series_kind;

/* Numbers are int64_t throughout, so that one table-driven reader fills them all. */
typedef struct {
    char name[NVML_NAME_SIZE], uuid[NVML_UUID_SIZE];
    int64_t mem_mib, reserved_mib, power_micro_w, temp_c, energy_mj;
    int64_t accounting; /* 0 or 1; at first what the driver line says */
    bool garbage_name, garbage_records, garbage_processes;
    mock_series series[MOCK_SERIES_COUNT]; /* a count of 0: not given */
} mock_device;

/* Processes that the scenario cannot name by number, in place of a pid. */
enum { MOCK_PID_SELF = -1, MOCK_PID_CHILD = -2, MOCK_PID_FOREIGN = -3 };

/* One phase of a process's life on a device: several may have the same pid. */
typedef struct {
    int64_t device, pid, t0_ns, t1_ns;
    int64_t mem_mib, mem_unknown;     /* unknown: the driver says all-ones */
    int64_t peak_mib, peak_ns;        /* a short allocation that only accounting shows */
    int64_t sm_micro, mem_util_micro; /* millionths of a percent */
    int64_t kind;                     /* of MOCK_PROCESS_KINDS */
} mock_process;

typedef enum { MOCK_FAIL, MOCK_DELAY, MOCK_HANG } mock_rule_kind;

/* One fault: it applies to calls of matching functions (and device, unless that is -1) at times
 * from_ns <= t < to_ns whose ordinal among such calls is within call_first..call_last. */
typedef struct {
    mock_rule_kind kind;
    char glob[MOCK_GLOB_SIZE];
    int64_t device, from_ns, to_ns, call_first, call_last;
    int64_t code;     /* of MOCK_FAIL */
    int64_t delay_us; /* of MOCK_DELAY */
} mock_rule;

typedef struct {
    char driver_version[NVML_DRIVER_SIZE];
    int64_t period_ms, ring, clock, order, dry_when_idle, process_stride, accounting;
    mock_device devices[MOCK_DEVICES_MAX];
    mock_process processes[MOCK_PROCESSES_MAX];
    mock_rule rules[MOCK_RULES_MAX];
    mock_point points[MOCK_POINTS_MAX];
    int64_t device_count, process_count, rule_count, point_count;
} mock_scenario;

/* Reads a scenario from text; source names it in messages. The scenario is filled in place and must
 * not be copied (its series point into it). False: error holds "SOURCE:LINE: what is wrong". */
bool mock_scenario_read(FILE *text, const char *source, mock_scenario *scenario,
                        char error[MOCK_ERROR_SIZE]);

/* The file at path, or the built-in scenario when path is NULL: one device, half busy. */
bool mock_scenario_load(const char *path, mock_scenario *scenario, char error[MOCK_ERROR_SIZE]);

#endif
