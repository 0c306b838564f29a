#include "cuda_spinner.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ATTRIBUTE_MULTIPROCESSOR_COUNT = 16 };

/* Every thread waits until ns nanoseconds of the device's global timer have passed. */
static const char spin_ptx[] = ".version 7.0\n"
                               ".target sm_70\n"
                               ".address_size 64\n"
                               ".visible .entry spin(.param .u64 ns)\n"
                               "{\n"
                               "    .reg .u64 %now, %end;\n"
                               "    .reg .pred %early;\n"
                               "    ld.param.u64 %end, [ns];\n"
                               "    mov.u64 %now, %globaltimer;\n"
                               "    add.u64 %end, %end, %now;\n"
                               "again:\n"
                               "    mov.u64 %now, %globaltimer;\n"
                               "    setp.lt.u64 %early, %now, %end;\n"
                               "    @%early bra again;\n"
                               "    ret;\n"
                               "}\n";

static const struct {
    size_t slot;
    const char *name;
} symbols[] = {
    {offsetof(cuda_api, init), "cuInit"},
    {offsetof(cuda_api, device_count), "cuDeviceGetCount"},
    {offsetof(cuda_api, device_get), "cuDeviceGet"},
    {offsetof(cuda_api, device_name), "cuDeviceGetName"},
    {offsetof(cuda_api, device_attribute), "cuDeviceGetAttribute"},
    {offsetof(cuda_api, context_retain), "cuDevicePrimaryCtxRetain"},
    {offsetof(cuda_api, context_release), "cuDevicePrimaryCtxRelease"},
    {offsetof(cuda_api, context_set), "cuCtxSetCurrent"},
    {offsetof(cuda_api, context_synchronize), "cuCtxSynchronize"},
    {offsetof(cuda_api, module_load), "cuModuleLoadData"},
    {offsetof(cuda_api, module_unload), "cuModuleUnload"},
    {offsetof(cuda_api, module_function), "cuModuleGetFunction"},
    {offsetof(cuda_api, memory_allocate), "cuMemAlloc_v2"},
    {offsetof(cuda_api, memory_set), "cuMemsetD8_v2"},
    {offsetof(cuda_api, memory_free), "cuMemFree_v2"},
    {offsetof(cuda_api, launch), "cuLaunchKernel"},
};

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the
 * bits are the same. */
static void fill(cuda_api *api, size_t slot, void *symbol) {
    memcpy((char *)api + slot, &symbol, sizeof symbol);
}

static bool load(cuda_spinner *s) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* never unloaded */
    if (library == NULL) {
        const char *reason = dlerror();
        (void)snprintf(s->error, sizeof s->error, "%s", reason == NULL ? "dlopen" : reason);
        return false;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL) {
            (void)snprintf(s->error, sizeof s->error, "libcuda.so.1 has no %s", symbols[i].name);
            return false;
        }
        fill(&s->api, symbols[i].slot, symbol);
    }
    fill(&s->api, offsetof(cuda_api, error_text), dlsym(library, "cuGetErrorString"));
    return true;
}

/* True if the call succeeded. Keeps the first failure. */
static bool check(cuda_spinner *s, const char *call, cuda_result result) {
    if (result == 0) {
        return true;
    }
    if (s->error[0] == '\0') {
        const char *text = NULL;
        if (s->api.error_text == NULL || s->api.error_text(result, &text) != 0 || text == NULL) {
            text = "the driver has no words for it";
        }
        (void)snprintf(s->error, sizeof s->error, "%s returned %d: %s", call, result, text);
    }
    return false;
}

static bool find_device(cuda_spinner *s) {
    int count = 0;
    if (!load(s) || !check(s, "cuInit", s->api.init(0)) ||
        !check(s, "cuDeviceGetCount", s->api.device_count(&count))) {
        return false;
    }
    if (count < 1) {
        (void)snprintf(s->error, sizeof s->error, "the CUDA driver shows no device");
        return false;
    }
    return true;
}

cuda_outcome cuda_spinner_open(cuda_spinner *s) {
    *s = (cuda_spinner){0};
    if (!find_device(s)) {
        return CUDA_ABSENT;
    }
    const cuda_api *api = &s->api;
    void *context = NULL;
    if (!check(s, "cuDeviceGet", api->device_get(&s->device, 0)) ||
        !check(s, "cuDeviceGetName", api->device_name(s->name, (int)sizeof s->name, s->device)) ||
        !check(s, "cuDeviceGetAttribute",
               api->device_attribute(&s->multiprocessors, ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                     s->device)) ||
        !check(s, "cuDevicePrimaryCtxRetain", api->context_retain(&context, s->device))) {
        return CUDA_FAILED;
    }
    s->retained = true;
    bool ready =
        check(s, "cuCtxSetCurrent", api->context_set(context)) &&
        check(s, "cuModuleLoadData", api->module_load(&s->module, spin_ptx)) &&
        check(s, "cuModuleGetFunction", api->module_function(&s->kernel, s->module, "spin"));
    return ready ? CUDA_READY : CUDA_FAILED;
}

bool cuda_spinner_hold(cuda_spinner *s, size_t bytes) {
    return check(s, "cuMemAlloc_v2", s->api.memory_allocate(&s->memory, bytes)) &&
           check(s, "cuMemsetD8_v2", s->api.memory_set(s->memory, 1, bytes)) &&
           check(s, "cuCtxSynchronize", s->api.context_synchronize());
}

bool cuda_spinner_run(cuda_spinner *s, unsigned int blocks, unsigned int threads, uint64_t ns) {
    void *arguments[] = {&ns};
    return check(s, "cuLaunchKernel",
                 s->api.launch(s->kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL)) &&
           check(s, "cuCtxSynchronize", s->api.context_synchronize());
}

bool cuda_spinner_close(cuda_spinner *s) {
    bool done = true;
    if (s->memory != 0) {
        done = check(s, "cuMemFree_v2", s->api.memory_free(s->memory)) && done;
    }
    if (s->module != NULL) {
        done = check(s, "cuModuleUnload", s->api.module_unload(s->module)) && done;
    }
    if (s->retained) {
        done = check(s, "cuDevicePrimaryCtxRelease", s->api.context_release(s->device)) && done;
    }
    s->memory = 0;
    s->module = NULL;
    s->retained = false;
    return done;
}
