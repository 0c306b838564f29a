#include "nvml_memory.h"

nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns) {
    probe_gpu_device *out = reader->out;
    nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2_VERSION};
    nvml_memory v1 = {0};
    unsigned long long total, used;
    nvml_return code = NVML_E_FUNCTION_NOT_FOUND;
    if (api->memory_v2 != NULL && out->memory_source != PROBE_MEMORY_V1) {
        code = api->memory_v2(reader->handle, &v2);
    }
    total = v2.total;
    used = v2.used;
    probe_memory_source source = PROBE_MEMORY_V2;
    /* Whatever v2 says (WSL: symbol there, call fails), v1 may work. But the two count differently:
     * once a device was read by one of them, the other is not mixed in. */
    if (code != NVML_OK && out->memory_source != PROBE_MEMORY_V2) {
        code = api->memory(reader->handle, &v1);
        total = v1.total;
        used = v1.used;
        source = PROBE_MEMORY_V1;
    }
    if (code == NVML_OK && total > 0) { /* unified-memory devices say 0: not a measurement */
        out->memory_source = source;
        out->mem_total_bytes = total;
        probe_gauge_add(&out->used, now_ns, used < total ? used : total);
    }
    return nvml_classify(code);
}
