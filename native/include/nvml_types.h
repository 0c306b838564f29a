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
};

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

#endif
