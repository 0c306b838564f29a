/* The slice of NVML's ABI that this project uses, declared by hand from the public interface: the
 * driver's library is loaded at run time, so no vendor header is needed to build. Shared by the
 * reader and by the mock driver; a contract test holds the sizes against the ctypes structures of
 * the pynvml module. */
#ifndef PROBE_NVML_TYPES_H
#define PROBE_NVML_TYPES_H

#include <stdint.h>

typedef int nvml_return;
typedef void *nvml_device; /* opaque handle, owned by the library */

enum {
    NVML_OK = 0,
    NVML_E_UNINITIALIZED = 1,
    NVML_E_INVALID_ARGUMENT = 2,
    NVML_E_NOT_SUPPORTED = 3,
    NVML_E_NO_PERMISSION = 4,
    NVML_E_NOT_FOUND = 6,
    NVML_E_INSUFFICIENT_SIZE = 7,
    NVML_E_DRIVER_NOT_LOADED = 9,
    NVML_E_TIMEOUT = 10,
    NVML_E_IRQ_ISSUE = 11,
    NVML_E_LIBRARY_NOT_FOUND = 12,
    NVML_E_FUNCTION_NOT_FOUND = 13,
    NVML_E_GPU_IS_LOST = 15,
    NVML_E_RESET_REQUIRED = 16,
    NVML_E_OPERATING_SYSTEM = 17,
    NVML_E_LIB_RM_VERSION_MISMATCH = 18,
    NVML_E_IN_USE = 19,
    NVML_E_MEMORY = 20,
    NVML_E_NO_DATA = 21,
    NVML_E_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_E_GPU_NOT_FOUND = 28,
    NVML_E_INVALID_STATE = 29,
    NVML_E_UNKNOWN = 999,
};

/* Text buffers: the sizes of the newest header. Older, smaller constants make long names fail with
 * INSUFFICIENT_SIZE. */
enum { NVML_NAME_SIZE = 96, NVML_UUID_SIZE = 96, NVML_DRIVER_SIZE = 80 };

enum {
    NVML_SAMPLES_TOTAL_POWER = 0,
    NVML_SAMPLES_GPU_UTILIZATION = 1,
    NVML_SAMPLES_MEMORY_UTILIZATION = 2,
    NVML_SAMPLES_SM_CLOCK = 5,
    NVML_SAMPLES_MEMORY_CLOCK = 6,
};

enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

/* Memory errors; counted since the driver was loaded (volatile), or over the life of the board. */
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1, NVML_ECC_TYPES = 2 };
enum { NVML_ECC_SINCE_DRIVER_LOAD = 0, NVML_ECC_AGGREGATE = 1 };

enum {
    NVML_VALUE_DOUBLE = 0,
    NVML_VALUE_UNSIGNED_INT = 1,
    NVML_VALUE_UNSIGNED_LONG = 2,
    NVML_VALUE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_SIGNED_LONG_LONG = 4,
    NVML_VALUE_SIGNED_INT = 5,
};

typedef struct {
    unsigned int gpu;    /* percent of the last driver period in which a kernel ran */
    unsigned int memory; /* percent of it in which device memory was read or written */
} nvml_utilization;

typedef struct {
    unsigned long long total, free, used; /* bytes; used includes what the driver reserves */
} nvml_memory;

typedef struct {
    unsigned int version; /* NVML_MEMORY_V2_VERSION; any other value is refused */
    unsigned long long total, reserved, free, used; /* bytes */
} nvml_memory_v2;
#define NVML_MEMORY_V2_VERSION ((unsigned int)(sizeof(nvml_memory_v2) | (2U << 24)))

typedef union {
    double d;
    unsigned int ui;
    unsigned long ul;
    unsigned long long ull;
    signed long long sll;
    signed int si;
} nvml_value;

typedef struct {
    unsigned long long timestamp_us; /* end of the period; clock domain differs between drivers */
    nvml_value value;
} nvml_sample;

/* A figure that the driver does not know, in place of bytes. */
#define NVML_VALUE_NOT_AVAILABLE UINT64_MAX
/* A process outside MIG, or a device that is not a MIG instance. */
#define NVML_NO_INSTANCE UINT32_MAX

/* nvmlPciInfo_t */
typedef struct {
    char bus_id_legacy[16];
    unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} nvml_pci_info;

/* Records of the process lists: of the unversioned functions, of _v2 and _v3, and of _v3 in the
 * first drivers of branch 535, which is also that of nvmlDeviceGetRunningProcessDetailList. */
typedef struct {
    unsigned int pid;
    unsigned long long used_gpu_memory; /* bytes, or NVML_VALUE_NOT_AVAILABLE */
} nvml_process_info_v1;

typedef struct {
    unsigned int pid;
    unsigned long long used_gpu_memory;
    unsigned int gpu_instance_id, compute_instance_id;
} nvml_process_info;

typedef struct {
    unsigned int pid;
    unsigned long long used_gpu_memory;
    unsigned int gpu_instance_id, compute_instance_id;
    unsigned long long used_gpu_cc_protected_memory;
} nvml_process_detail;

enum { NVML_PROCESSES_COMPUTE, NVML_PROCESSES_GRAPHICS, NVML_PROCESSES_MPS, NVML_PROCESS_KINDS };

typedef struct {
    unsigned int version; /* NVML_PROCESS_DETAIL_LIST_VERSION */
    unsigned int mode;    /* NVML_PROCESSES_* */
    unsigned int count;   /* in: records in processes; out: processes there are */
    nvml_process_detail *processes;
} nvml_process_detail_list;
#define NVML_PROCESS_DETAIL_LIST_VERSION                                                           \
    ((unsigned int)(sizeof(nvml_process_detail_list) | (1U << 24)))

/* nvmlProcessUtilizationSample_t: percent since the time stamp that was asked for */
typedef struct {
    unsigned int pid;
    unsigned long long timestamp_us;
    unsigned int sm, memory, encoder, decoder;
} nvml_process_sample;

typedef struct {
    unsigned long long timestamp_us;
    unsigned int pid, sm, memory, encoder, decoder, jpeg, ofa;
} nvml_process_utilization;

typedef struct {
    unsigned int version; /* NVML_PROCESSES_UTILIZATION_VERSION */
    unsigned int count;
    unsigned long long last_seen_us;
    nvml_process_utilization *processes;
} nvml_processes_utilization;
#define NVML_PROCESSES_UTILIZATION_VERSION                                                         \
    ((unsigned int)(sizeof(nvml_processes_utilization) | (1U << 24)))

typedef struct {
    unsigned int gpu, memory;                  /* percent of the process's life */
    unsigned long long max_memory;             /* bytes */
    unsigned long long time_ms, start_time_us; /* time_ms is 0 while the process runs */
    unsigned int is_running, reserved[5];
} nvml_accounting_stats;

typedef struct {
    unsigned int multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
    unsigned int gpu_instance_slices, compute_instance_slices;
    unsigned long long memory_mib;
} nvml_device_attributes;

typedef struct {
    unsigned int field_id, scope_id;
    long long timestamp_us, latency_us;
    int value_type; /* NVML_VALUE_* */
    nvml_return rc;
    nvml_value value;
} nvml_field_value;

typedef struct {
    nvml_device device;
    unsigned long long type, data; /* data of an Xid event: its number */
    unsigned int gpu_instance_id, compute_instance_id;
} nvml_event_data;

#define NVML_EVENT_ECC_SBE 0x1ULL
#define NVML_EVENT_ECC_DBE 0x2ULL
#define NVML_EVENT_XID 0x8ULL
#define NVML_EVENT_GPU_UNAVAILABLE 0x4000ULL
#define NVML_EVENT_GPU_RECOVERY 0x8000ULL

enum {
    NVML_GPM_GRAPHICS_UTIL = 1,
    NVML_GPM_SM_UTIL = 2,
    NVML_GPM_SM_OCCUPANCY = 3,
    NVML_GPM_ANY_TENSOR_UTIL = 5,
    NVML_GPM_DRAM_BW_UTIL = 10,
    NVML_GPM_METRIC_MAX = 477, /* of the largest header known; its own grew with the releases */
};

typedef struct {
    unsigned int metric_id;
    nvml_return rc;
    double value;
    const char *short_name, *long_name, *unit;
} nvml_gpm_metric;

typedef struct {
    unsigned int version; /* NVML_GPM_VERSION */
    unsigned int count;   /* of the metrics asked for */
    void *sample1, *sample2;
    nvml_gpm_metric metrics[NVML_GPM_METRIC_MAX];
} nvml_gpm_metrics;
#define NVML_GPM_VERSION 1U

typedef struct {
    unsigned int version; /* NVML_GPM_VERSION */
    unsigned int is_supported;
} nvml_gpm_support;

typedef struct {
    unsigned int version; /* NVML_TEMPERATURE_VERSION */
    int sensor, celsius;
} nvml_temperature;
#define NVML_TEMPERATURE_VERSION ((unsigned int)(sizeof(nvml_temperature) | (1U << 24)))

/* Bits of the clocks event (throttle) reasons that mean lower clocks than asked for. */
#define NVML_REASON_SW_POWER_CAP 0x04ULL
#define NVML_REASON_HW_SLOWDOWN 0x08ULL
#define NVML_REASON_SW_THERMAL 0x20ULL
#define NVML_REASON_HW_THERMAL 0x40ULL
#define NVML_REASON_HW_POWER_BRAKE 0x80ULL

_Static_assert(sizeof(nvml_utilization) == 8, "layout of nvmlUtilization_t");
_Static_assert(sizeof(nvml_memory) == 24, "layout of nvmlMemory_t");
_Static_assert(sizeof(nvml_memory_v2) == 40, "layout of nvmlMemory_v2_t");
_Static_assert(NVML_MEMORY_V2_VERSION == 0x02000028U, "version word of nvmlMemory_v2_t");
_Static_assert(sizeof(nvml_sample) == 16, "layout of nvmlSample_t");
_Static_assert(sizeof(nvml_pci_info) == 68, "layout of nvmlPciInfo_t");
_Static_assert(sizeof(nvml_process_info_v1) == 16, "layout of nvmlProcessInfo_v1_t");
_Static_assert(sizeof(nvml_process_info) == 24, "layout of nvmlProcessInfo_v2_t");
_Static_assert(sizeof(nvml_process_detail) == 32, "layout of nvmlProcessDetail_v1_t");
_Static_assert(sizeof(nvml_process_detail_list) == 24, "layout of nvmlProcessDetailList_v1_t");
_Static_assert(sizeof(nvml_process_sample) == 32, "layout of nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(nvml_process_utilization) == 40, "layout of nvmlProcessUtilizationInfo_v1_t");
_Static_assert(sizeof(nvml_processes_utilization) == 24,
               "layout of nvmlProcessesUtilizationInfo_v1_t");
_Static_assert(sizeof(nvml_accounting_stats) == 56, "layout of nvmlAccountingStats_t");
_Static_assert(sizeof(nvml_device_attributes) == 40, "layout of nvmlDeviceAttributes_t");
_Static_assert(sizeof(nvml_field_value) == 40, "layout of nvmlFieldValue_t");
_Static_assert(sizeof(nvml_event_data) == 32, "layout of nvmlEventData_t");
_Static_assert(sizeof(nvml_gpm_metric) == 40, "layout of nvmlGpmMetric_t");
_Static_assert(sizeof(nvml_gpm_metrics) == 19104, "layout of nvmlGpmMetricsGet_t");
_Static_assert(sizeof(nvml_gpm_support) == 8, "layout of nvmlGpmSupport_t");
_Static_assert(sizeof(nvml_temperature) == 12, "layout of nvmlTemperature_v1_t");
_Static_assert(NVML_PROCESS_DETAIL_LIST_VERSION == 0x01000018U,
               "version word of nvmlProcessDetailList_v1_t");
_Static_assert(NVML_PROCESSES_UTILIZATION_VERSION == 0x01000018U,
               "version word of nvmlProcessesUtilizationInfo_v1_t");
_Static_assert(NVML_TEMPERATURE_VERSION == 0x0100000CU, "version word of nvmlTemperature_v1_t");

#endif
