#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ATTRIBUTE_MULTIPROCESSOR_COUNT = 16 };
enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };

/* The driver keeps every old function under its old name: those that cuda.h renames by a macro are
 * asked for by the new one. */
static const struct {
    size_t slot;
    const char *name;
} required[] = {
    {offsetof(cuda_api, init), "cuInit"},
    {offsetof(cuda_api, device_count), "cuDeviceGetCount"},
    {offsetof(cuda_api, device_get), "cuDeviceGet"},
    {offsetof(cuda_api, device_name), "cuDeviceGetName"},
    {offsetof(cuda_api, device_attribute), "cuDeviceGetAttribute"},
    {offsetof(cuda_api, context_retain), "cuDevicePrimaryCtxRetain"},
    {offsetof(cuda_api, context_release), "cuDevicePrimaryCtxRelease"},
    {offsetof(cuda_api, context_set), "cuCtxSetCurrent"},
    {offsetof(cuda_api, context_synchronize), "cuCtxSynchronize"},
    {offsetof(cuda_api, module_load), "cuModuleLoadDataEx"},
    {offsetof(cuda_api, module_unload), "cuModuleUnload"},
    {offsetof(cuda_api, module_function), "cuModuleGetFunction"},
    {offsetof(cuda_api, memory_info), "cuMemGetInfo_v2"},
    {offsetof(cuda_api, memory_allocate), "cuMemAlloc_v2"},
    {offsetof(cuda_api, memory_set), "cuMemsetD8_v2"},
    {offsetof(cuda_api, memory_to_device), "cuMemcpyHtoD_v2"},
    {offsetof(cuda_api, memory_to_host), "cuMemcpyDtoH_v2"},
    {offsetof(cuda_api, event_create), "cuEventCreate"},
    {offsetof(cuda_api, event_record), "cuEventRecord"},
    {offsetof(cuda_api, event_synchronize), "cuEventSynchronize"},
    {offsetof(cuda_api, event_elapsed_ms), "cuEventElapsedTime"},
    {offsetof(cuda_api, event_destroy), "cuEventDestroy_v2"},
    {offsetof(cuda_api, launch), "cuLaunchKernel"},
};

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the
 * bits are the same. */
static void fill(cuda_api *api, size_t slot, void *symbol) {
    memcpy((char *)api + slot, &symbol, sizeof symbol);
}

static bool load(cuda_driver *d) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* never unloaded */
    if (library == NULL) {
        const char *reason = dlerror();
        (void)snprintf(d->error, sizeof d->error, "%s", reason == NULL ? "dlopen" : reason);
        return false;
    }
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        void *symbol = dlsym(library, required[i].name);
        if (symbol == NULL) {
            (void)snprintf(d->error, sizeof d->error, "libcuda.so.1 has no %s", required[i].name);
            return false;
        }
        fill(&d->api, required[i].slot, symbol);
    }
    fill(&d->api, offsetof(cuda_api, error_text), dlsym(library, "cuGetErrorString"));
    void *uuid = dlsym(library, "cuDeviceGetUuid_v2"); /* of the MIG instance, where there is one */
    uuid = uuid == NULL ? dlsym(library, "cuDeviceGetUuid") : uuid;
    fill(&d->api, offsetof(cuda_api, device_uuid), uuid);
    return true;
}

bool cuda_check(cuda_driver *d, const char *call, cuda_result result) {
    if (result == 0) {
        return true;
    }
    if (d->error[0] == '\0') {
        const char *text = NULL;
        if (d->api.error_text == NULL || d->api.error_text(result, &text) != 0 || text == NULL) {
            text = "the driver has no words for it";
        }
        (void)snprintf(d->error, sizeof d->error, "%s returned %d: %s", call, result, text);
    }
    return false;
}

static bool find_device(cuda_driver *d) {
    int count = 0;
    if (!load(d) || !cuda_check(d, "cuInit", d->api.init(0)) ||
        !cuda_check(d, "cuDeviceGetCount", d->api.device_count(&count))) {
        return false;
    }
    if (count < 1) {
        (void)snprintf(d->error, sizeof d->error, "the CUDA driver shows no device");
        return false;
    }
    return true;
}

static void read_uuid(cuda_driver *d) {
    unsigned char b[16] = {0};
    if (d->api.device_uuid == NULL || d->api.device_uuid(b, d->device) != 0) {
        return;
    }
    (void)snprintf(d->uuid, sizeof d->uuid,
                   "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
}

cuda_outcome cuda_driver_open(cuda_driver *d) {
    *d = (cuda_driver){0};
    if (!find_device(d)) {
        return CUDA_ABSENT;
    }
    const cuda_api *api = &d->api;
    void *context = NULL;
    if (!cuda_check(d, "cuDeviceGet", api->device_get(&d->device, 0)) ||
        !cuda_check(d, "cuDeviceGetName",
                    api->device_name(d->name, (int)sizeof d->name, d->device)) ||
        !cuda_check(d, "cuDeviceGetAttribute",
                    api->device_attribute(&d->multiprocessors, ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                          d->device)) ||
        !cuda_check(d, "cuDevicePrimaryCtxRetain", api->context_retain(&context, d->device))) {
        return CUDA_FAILED;
    }
    d->retained = true;
    read_uuid(d);
    return cuda_check(d, "cuCtxSetCurrent", api->context_set(context)) ? CUDA_READY : CUDA_FAILED;
}

bool cuda_driver_kernel(cuda_driver *d, const char *ptx, const char *name, void **kernel) {
    char log[512] = "";
    int options[] = {JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)}; /* numbers travel as pointers */
    if (!cuda_check(d, "cuModuleLoadDataEx",
                    d->api.module_load(&d->module, ptx, 2, options, values))) {
        size_t length = strlen(d->error);
        (void)snprintf(d->error + length, sizeof d->error - length, "; %s", log);
        return false;
    }
    return cuda_check(d, "cuModuleGetFunction", d->api.module_function(kernel, d->module, name));
}

bool cuda_driver_allocate(cuda_driver *d, size_t bytes, uint64_t *memory) {
    return cuda_check(d, "cuMemAlloc_v2", d->api.memory_allocate(memory, bytes)) &&
           cuda_check(d, "cuMemsetD8_v2", d->api.memory_set(*memory, 1, bytes)) &&
           cuda_check(d, "cuCtxSynchronize", d->api.context_synchronize());
}

bool cuda_driver_used(cuda_driver *d, size_t *bytes) {
    size_t available = 0;
    size_t total = 0;
    if (!cuda_check(d, "cuMemGetInfo_v2", d->api.memory_info(&available, &total))) {
        return false;
    }
    *bytes = total - available;
    return true;
}

bool cuda_driver_close(cuda_driver *d) {
    bool done = true;
    if (d->module != NULL) {
        done = cuda_check(d, "cuModuleUnload", d->api.module_unload(d->module)) && done;
    }
    if (d->retained) {
        done =
            cuda_check(d, "cuDevicePrimaryCtxRelease", d->api.context_release(d->device)) && done;
    }
    d->module = NULL;
    d->retained = false;
    return done;
}
