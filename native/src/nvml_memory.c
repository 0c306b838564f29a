#include "nvml_memory.h"

#include "clock.h"
#include <string.h>

/* So soon, no process can have set up a device yet. Later, but within the second, it must be known
 * that none of the task's has. */
static const int64_t at_once_ns = 100 * PROBE_NS_PER_MS, at_start_ns = PROBE_NS_PER_S;

/* Straight over so many intervals, when readings are missing. */
enum { BRIDGED_INTERVALS = 3 };

/* After so many failures in a row a call will not work. */
enum { FAILURES_MAX = 3 };

void nvml_reader_memory_open(nvml_reader *reader, uint64_t host_bytes) {
    /* Integrated devices, by their names: DGX Spark, Jetson. */
    static const char *const integrated[] = {"GB10", "nvgpu", "Orin", "Xavier", "Thor", "Tegra"};
    for (size_t i = 0; i < sizeof integrated / sizeof integrated[0]; i++) {
        if (strstr(reader->out->name, integrated[i]) != NULL) {
            reader->shared_memory_bytes = host_bytes;
        }
    }
}

/* Why a reading is none; PROBE_MEMORY_UNREAD: it is one. */
static probe_memory_absence doubt(const nvml_reader *reader, uint64_t total, uint64_t used) {
    if (total == NVML_VALUE_NOT_AVAILABLE || used == NVML_VALUE_NOT_AVAILABLE) {
        return PROBE_MEMORY_NONSENSE;
    }
    /* Such a device says 0, or something near to what the host has. Any other that says 0 may not
     * be ready yet. */
    if (reader->shared_memory_bytes > 0 &&
        (total == 0 || total >= reader->shared_memory_bytes / 4 * 3)) {
        return PROBE_MEMORY_UNIFIED;
    }
    return total == 0 || used > total ? PROBE_MEMORY_NONSENSE : PROBE_MEMORY_UNREAD;
}

/* Too long a time without a reading, but for a driver that always takes so long. */
static bool is_hole(const nvml_reader *reader, int64_t gap_ns) {
    return reader->interval_ns > 0 && gap_ns > BRIDGED_INTERVALS * reader->interval_ns &&
           gap_ns > 2 * reader->memory_gap_ns;
}

static void take(nvml_reader *reader, int64_t now_ns, uint64_t total, uint64_t used) {
    probe_gpu_device *out = reader->out;
    out->mem_total_bytes = total;
    if (!out->used.any) {
        out->used_at_start_known = now_ns <= at_once_ns;
        out->used_at_start_bytes = used;
        out->used_first_ns = now_ns;
    }
    int64_t gap_ns = now_ns - out->used.last_ns;
    if (out->used.any && is_hole(reader, gap_ns)) {
        probe_gauge_resume(&out->used, now_ns, used);
    } else {
        probe_gauge_add(&out->used, now_ns, used);
    }
    reader->memory_gap_ns = reader->memory_failures == 0 ? gap_ns : 0;
    reader->memory_failures = 0;
}

void nvml_reader_memory_settle_start(probe_gpu_device *out) {
    const probe_gpu_sharing *sharing = &out->sharing;
    bool nobody = sharing->listed && !sharing->failed && !sharing->incomplete && !sharing->own_seen;
    out->used_at_start_known =
        out->used_at_start_known || (nobody && out->used.any && out->used_first_ns <= at_start_ns);
}

static nvml_return read_by(const nvml_reader *reader, const nvml_api *api,
                           probe_memory_source source, uint64_t *total, uint64_t *used) {
    nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2_VERSION};
    nvml_memory v1 = {0};
    nvml_return code = NVML_E_FUNCTION_NOT_FOUND;
    if (source == PROBE_MEMORY_V1) {
        code = api->memory(reader->handle, &v1);
    } else if (api->memory_v2 != NULL) {
        code = api->memory_v2(reader->handle, &v2);
    }
    *total = source == PROBE_MEMORY_V1 ? v1.total : v2.total;
    *used = source == PROBE_MEMORY_V1 ? v1.used : v2.used;
    return code;
}

static probe_memory_absence absence_of(nvml_return code) {
    return nvml_classify(code) == NVML_FEATURE_ABSENT ? PROBE_MEMORY_NOT_SUPPORTED
           : code == NVML_E_NO_PERMISSION             ? PROBE_MEMORY_FORBIDDEN
                                                      : PROBE_MEMORY_UNREAD;
}

nvml_class nvml_reader_memory(nvml_reader *reader, const nvml_api *api, int64_t now_ns, bool last) {
    static const probe_memory_source sources[] = {PROBE_MEMORY_V2, PROBE_MEMORY_V1};
    probe_gpu_device *out = reader->out;
    nvml_return code = NVML_OK;
    /* Whatever v2 says for good (WSL: symbol there, call fails), v1 may work. But the two count
     * differently: once a device was read by one of them, the other is not mixed in. */
    for (size_t i = 0; i < 2 && !reader->memory_absent; i++) {
        uint64_t total = 0, used = 0;
        if (out->memory_source != PROBE_MEMORY_NONE && out->memory_source != sources[i]) {
            continue;
        }
        code = read_by(reader, api, sources[i], &total, &used);
        probe_memory_absence why = code == NVML_OK ? doubt(reader, total, used) : absence_of(code);
        if (code == NVML_OK && why == PROBE_MEMORY_UNREAD) {
            out->memory_source = sources[i];
            take(reader, now_ns, total, used);
            return NVML_GOOD;
        }
        out->memory_absence = why > out->memory_absence ? why : out->memory_absence;
        if (nvml_classify(code) == NVML_TRANSIENT && reader->memory_failures < FAILURES_MAX - 1 &&
            !last) {
            break;
        }
    }
    reader->memory_failures++;
    /* What the driver will never tell is not asked for again. */
    reader->memory_absent = out->memory_source == PROBE_MEMORY_NONE &&
                            (out->memory_absence == PROBE_MEMORY_NOT_SUPPORTED ||
                             out->memory_absence == PROBE_MEMORY_UNIFIED) &&
                            nvml_classify(code) != NVML_TRANSIENT;
    return nvml_classify(code);
}
