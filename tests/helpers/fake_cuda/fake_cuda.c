/* A libcuda.so.1 for tests: enough of the driver for the workloads, with a device of plain memory
 * and kernels that are really run, on the CPU, while they are launched. It is strict where a driver
 * is: what was not initialised, allocated or created is refused.
 *
 *   FAKE_CUDA_DEVICES      number of devices (default: 1); 0: cuInit says that there is none
 *   FAKE_CUDA_MEMORY_MIB   memory of the device (default: 1024); a context takes 64 MiB of it
 *   FAKE_CUDA_FAIL         NAME=CODE: this function returns that code
 *   FAKE_CUDA_LEAKS        file in which the process, at its end, says what it has not given back
 */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* they are in the vendor's header */
#define EXPORT __attribute__((visibility("default")))

typedef int result;
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
};
enum { MOST_BLOCKS = 64, CONTEXT_MIB = 64, MULTIPROCESSORS = 2, ATTRIBUTE_MULTIPROCESSORS = 16 };
enum { JIT_ERROR_LOG_BUFFER = 5, MOST_FILLED = 1 << 20 };

static struct {
    bool initialized;
    int retained;
    bool current;
    struct {
        char *at;
        size_t bytes;
    } blocks[MOST_BLOCKS];
    size_t used;
    int modules;
    int events;
} state;

static size_t number(const char *variable, size_t otherwise) {
    const char *text = getenv(variable);
    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

/* The failure that was ordered for this function, or that its state makes. */
static result enter(const char *function, bool needs_context) {
    const char *order = getenv("FAKE_CUDA_FAIL");
    const size_t length = strlen(function);
    if (order != NULL && strncmp(order, function, length) == 0 && order[length] == '=') {
        return atoi(order + length + 1);
    }
    if (!state.initialized) {
        return NOT_INITIALIZED;
    }
    return needs_context && !state.current ? INVALID_CONTEXT : SUCCESS;
}

#define ENTER(needs_context)                                                                       \
    do {                                                                                           \
        const result refused = enter(__func__, needs_context);                                     \
        if (refused != SUCCESS) {                                                                  \
            return refused;                                                                        \
        }                                                                                          \
    } while (0)

static bool is_allocated(uint64_t address, size_t bytes) {
    for (int i = 0; i < MOST_BLOCKS; i++) {
        const uint64_t begin = (uint64_t)(uintptr_t)state.blocks[i].at;
        if (begin != 0 && address >= begin && address - begin <= state.blocks[i].bytes &&
            bytes <= state.blocks[i].bytes - (address - begin)) {
            return true;
        }
    }
    return false;
}

static void free_blocks(void) {
    for (int i = 0; i < MOST_BLOCKS; i++) {
        free(state.blocks[i].at);
        state.blocks[i].at = NULL;
    }
    state.used = 0;
}

__attribute__((destructor)) static void report_leaks(void) {
    const char *path = getenv("FAKE_CUDA_LEAKS");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL) {
        (void)fprintf(file, "contexts %d modules %d events %d\n", state.retained, state.modules,
                      state.events);
        (void)fclose(file);
    }
}

EXPORT result cuInit(unsigned int flags) {
    state.initialized = true;
    ENTER(false);
    state.initialized = flags == 0 && number("FAKE_CUDA_DEVICES", 1) > 0;
    return flags != 0 ? INVALID_VALUE : state.initialized ? SUCCESS : NO_DEVICE;
}

EXPORT result cuGetErrorString(result code, const char **text) {
    static const struct {
        result code;
        const char *text;
    } texts[] = {{OUT_OF_MEMORY, "out of memory"},
                 {NO_DEVICE, "no CUDA-capable device is detected"},
                 {INVALID_PTX, "a PTX JIT compilation failed"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].code == code) {
            *text = texts[i].text;
            return SUCCESS;
        }
    }
    return INVALID_VALUE;
}

EXPORT result cuDeviceGetCount(int *count) {
    ENTER(false);
    *count = (int)number("FAKE_CUDA_DEVICES", 1);
    return SUCCESS;
}

EXPORT result cuDeviceGet(int *device, int ordinal) {
    ENTER(false);
    *device = ordinal;
    return ordinal < (int)number("FAKE_CUDA_DEVICES", 1) ? SUCCESS : INVALID_VALUE;
}

EXPORT result cuDeviceGetName(char *name, int length, int device) {
    ENTER(false);
    (void)snprintf(name, (size_t)length, "Fake \"GPU\" %d", device);
    return SUCCESS;
}

EXPORT result cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER(false);
    *value = MULTIPROCESSORS;
    return attribute == ATTRIBUTE_MULTIPROCESSORS && device == 0 ? SUCCESS : INVALID_VALUE;
}

/* That of the mock driver's first device. */
EXPORT result cuDeviceGetUuid_v2(unsigned char uuid[16], int device) {
    ENTER(false);
    memcpy(uuid, "mock\0\0\x40\0\x80\0\0\0\0\0\0\0", 16);
    return device == 0 ? SUCCESS : INVALID_VALUE;
}

EXPORT result cuDevicePrimaryCtxRetain(void **context, int device) {
    ENTER(false);
    state.retained++;
    *context = &state;
    return device == 0 ? SUCCESS : INVALID_VALUE;
}

EXPORT result cuDevicePrimaryCtxRelease(int device) {
    ENTER(false);
    if (state.retained == 0 || device != 0) {
        return INVALID_CONTEXT;
    }
    state.retained--;
    state.current = false;
    free_blocks();
    return SUCCESS;
}

EXPORT result cuCtxSetCurrent(void *context) {
    ENTER(false);
    state.current = context == &state && state.retained > 0;
    return state.current ? SUCCESS : INVALID_CONTEXT;
}

EXPORT result cuCtxSynchronize(void) {
    ENTER(true);
    return SUCCESS;
}

EXPORT result cuModuleLoadDataEx(void **module, const void *image, unsigned int count, int *options,
                                 void **values) {
    ENTER(true);
    char error[256];
    *module = ptx_compile(image, error);
    for (unsigned int i = 0; *module == NULL && i < count; i++) {
        if (options[i] == JIT_ERROR_LOG_BUFFER) {
            memcpy(values[i], error, sizeof error);
        }
    }
    state.modules += *module != NULL;
    return *module == NULL ? INVALID_PTX : SUCCESS;
}

EXPORT result cuModuleUnload(void *module) {
    ENTER(true);
    ptx_free(module);
    state.modules--;
    return SUCCESS;
}

EXPORT result cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER(true);
    *function = module;
    return strcmp(ptx_name(module), name) == 0 ? SUCCESS : NOT_FOUND;
}

static size_t total_memory(void) {
    return number("FAKE_CUDA_MEMORY_MIB", 1024) << 20;
}

static size_t available_memory(void) {
    return total_memory() - ((size_t)CONTEXT_MIB << 20) - state.used;
}

EXPORT result cuMemGetInfo_v2(size_t *available, size_t *total) {
    ENTER(true);
    *total = total_memory();
    *available = available_memory();
    return SUCCESS;
}

EXPORT result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    ENTER(true);
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    for (int i = 0; bytes <= available_memory() && i < MOST_BLOCKS; i++) {
        if (state.blocks[i].at == NULL) {
            state.blocks[i].at = malloc(bytes);
            state.blocks[i].bytes = bytes;
            state.used += bytes;
            *address = (uint64_t)(uintptr_t)state.blocks[i].at;
            return state.blocks[i].at == NULL ? OUT_OF_MEMORY : SUCCESS;
        }
    }
    return OUT_OF_MEMORY;
}

EXPORT result cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
    ENTER(true);
    if (!is_allocated(address, bytes)) {
        return INVALID_VALUE;
    }
    /* A device fills its memory in no time; of what is large, nothing reads the rest here. */
    memset((void *)(uintptr_t)address, value, bytes < MOST_FILLED ? bytes : MOST_FILLED);
    return SUCCESS;
}

EXPORT result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    ENTER(true);
    if (!is_allocated(to, bytes)) {
        return INVALID_VALUE;
    }
    memcpy((void *)(uintptr_t)to, from, bytes);
    return SUCCESS;
}

EXPORT result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    ENTER(true);
    if (!is_allocated(from, bytes)) {
        return INVALID_VALUE;
    }
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return SUCCESS;
}

EXPORT result cuEventCreate(void **event, unsigned int flags) {
    ENTER(true);
    *event = calloc(1, sizeof(struct timespec));
    state.events += *event != NULL;
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}

EXPORT result cuEventRecord(void *event, void *stream) {
    ENTER(true);
    (void)clock_gettime(CLOCK_MONOTONIC, event);
    return stream == NULL ? SUCCESS : INVALID_VALUE;
}

EXPORT result cuEventSynchronize(void *event) {
    ENTER(true);
    return event == NULL ? INVALID_VALUE : SUCCESS;
}

EXPORT result cuEventElapsedTime(float *ms, void *begin, void *end) {
    ENTER(true);
    const struct timespec *b = begin;
    const struct timespec *e = end;
    *ms = (float)((double)(e->tv_sec - b->tv_sec) * 1e3 + (double)(e->tv_nsec - b->tv_nsec) / 1e6);
    return b->tv_sec == 0 || e->tv_sec == 0 ? INVALID_VALUE : SUCCESS;
}

EXPORT result cuEventDestroy_v2(void *event) {
    ENTER(true);
    free(event);
    state.events--;
    return SUCCESS;
}

EXPORT result cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
                             unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                             unsigned int block_z, unsigned int shared_bytes, void *stream,
                             void **arguments, void **extra) {
    ENTER(true);
    const ptx_shape shape = {.blocks = {grid_x, grid_y}, .threads = {block_x, block_y}};
    const uint64_t block = (uint64_t)block_x * block_y * block_z;
    if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || block == 0 || block > 1024 ||
        block_z != 1 || shared_bytes != 0 || stream != NULL || extra != NULL) {
        return INVALID_VALUE;
    }
    return ptx_run(function, shape, arguments, is_allocated) ? SUCCESS : ILLEGAL_ADDRESS;
}
