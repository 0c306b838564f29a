#include "nvml_session.h"

#include "clock.h"
#include "gpu_scope.h"
#include "nvml_api.h"
#include "nvml_device.h"
#include "nvml_gpm.h"
#include "nvml_health.h"
#include "nvml_memory.h"
#include "nvml_mig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rings hold ten seconds or more: a drain every few seconds sees every entry. In the first
 * second, so that a helper that does not live long has something to tell, they are closer. */
static const int64_t drain_min_ns = 3 * PROBE_NS_PER_S, drain_max_ns = 5 * PROBE_NS_PER_S,
                     early_ns = PROBE_NS_PER_S, drain_early_ns = 500 * PROBE_NS_PER_MS;

static int64_t elapsed(const nvml_session *session) {
    return session->config.clock_ns(CLOCK_MONOTONIC) - session->config.start_ns;
}

/* Each text once; what does not fit is cut. */
static void note(nvml_session *session, const char *text, const char *detail) {
    char *notes = session->snapshot.note;
    size_t used = strlen(notes);
    if (strstr(notes, text) == NULL) {
        (void)snprintf(notes + used, sizeof session->snapshot.note - used,
                       detail[0] == '\0' ? "%s%s" : "%s%s: %s", used > 0 ? "; " : "", text, detail);
    }
}

/* Brings up to date what the snapshot says of all devices together. */
static void stamp(nvml_session *session) {
    session->snapshot.written_ns = elapsed(session);
    session->snapshot.busy_ns = probe_union_length(&session->busy);
}

static int enumerate(nvml_session *session, nvml_device *handles, char (*names)[NVML_NAME_SIZE],
                     char (*uuids)[NVML_UUID_SIZE]) {
    unsigned int total = 0;
    nvml_return code = session->api.count(&total);
    if (code != NVML_OK) {
        note(session, "the driver does not tell its devices", session->api.error_string(code));
        return 0;
    }
    int count = 0;
    for (unsigned int i = 0; i < total && count < PROBE_GPU_MAX; i++) {
        code = session->api.handle_by_index(i, &handles[count]);
        if (code != NVML_OK) {
            if (code !=
                NVML_E_NO_PERMISSION) { /* a device of somebody else's container is not an error */
                note(session, "a device could not be opened", session->api.error_string(code));
            }
            continue;
        }
        if (session->api.name(handles[count], names[count], NVML_NAME_SIZE) != NVML_OK) {
            names[count][0] = '\0';
        }
        if (session->api.uuid(handles[count], uuids[count], NVML_UUID_SIZE) != NVML_OK) {
            uuids[count][0] = '\0';
        }
        count++;
    }
    if (total > PROBE_GPU_MAX) {
        note(session, "more than 16 devices: the others are not measured", "");
    }
    return count;
}

/* position: in the list of candidates, whole devices first. */
static void open_device(nvml_session *session, int i, int position, const nvml_device *handles,
                        char (*uuids)[NVML_UUID_SIZE]) {
    nvml_reader *reader = &session->reader[i];
    probe_gpu_device *out = &session->snapshot.device[i];
    const nvml_mig_instance *instance = nvml_mig_at(&session->mig, position);
    int index = instance == NULL ? position : instance->parent;
    if (instance != NULL) {
        nvml_mig_describe(instance, &session->api, uuids[index], out);
    }
    nvml_reader_open(reader, &session->api, instance == NULL ? handles[index] : instance->handle,
                     index, out);
    reader->parent = instance == NULL ? NULL : handles[index];
    reader->clock_ns = session->config.clock_ns;
}

static void open_devices(nvml_session *session) {
    nvml_device handles[PROBE_GPU_MAX];
    char names[PROBE_GPU_MAX][NVML_NAME_SIZE], uuids[PROBE_GPU_MAX][NVML_UUID_SIZE];
    probe_scope_device devices[PROBE_SCOPE_MAX];
    int count = enumerate(session, handles, names, uuids);
    for (int i = 0; i < count; i++) {
        devices[i] = (probe_scope_device){.name = names[i], .uuid = uuids[i]};
    }
    nvml_mig_list *mig = &session->mig;
    nvml_mig_find(mig, &session->api, handles, (const char(*)[NVML_UUID_SIZE])uuids, count);
    int candidates = nvml_mig_append(mig, devices);
    const char *order = getenv("CUDA_DEVICE_ORDER");
    probe_scope scope =
        probe_scope_select(getenv("CUDA_VISIBLE_DEVICES"),
                           order != NULL && strcmp(order, "PCI_BUS_ID") == 0, devices, candidates);
    bool chose_any = scope.count > 0;
    if (nvml_mig_expand(mig, &scope) > 0) {
        note(session, "more than 16 devices: the others are not measured", "");
    }
    session->snapshot.gpus = scope.gpus;
    session->snapshot.ambiguous = scope.ambiguous;
    session->snapshot.count = scope.count;
    if (scope.reason != NULL) {
        note(session, scope.reason, "");
    } else if (scope.count == 0) {
        note(session,
             count == 0  ? "the driver shows no device here"
             : chose_any ? "the device is divided (MIG), but into no instance that can be used here"
                         : "CUDA_VISIBLE_DEVICES hides every device",
             "");
    }
    for (int i = 0; i < scope.count; i++) {
        open_device(session, i, scope.chosen[i], handles, uuids);
    }
}

static void start(nvml_session *session) {
    probe_error error = {0};
    if (nvml_api_load(&session->api, session->config.library, &error) != PROBE_OK) {
        note(session, error.what, error.detail);
        return;
    }
    session->snapshot.mock = session->api.mock;
    nvml_return code = session->api.init();
    if (code != NVML_OK) {
        note(session, "NVML could not be initialised", session->api.error_string(code));
        return;
    }
    if (session->api.driver_version(session->snapshot.driver, sizeof session->snapshot.driver) !=
        NVML_OK) {
        session->snapshot.driver[0] = '\0';
    }
    session->snapshot.driver[sizeof session->snapshot.driver - 1] = '\0';
    open_devices(session);
}

/* True: go on with this device. */
static bool survives(nvml_session *session, nvml_reader *reader, nvml_class result) {
    if (result == NVML_LIBRARY_GONE) {
        session->stopped = true;
        note(session, "the driver stopped answering during the task", "");
    }
    if (result == NVML_LIBRARY_GONE || result == NVML_DEVICE_GONE) {
        reader->out->lost = true;
        reader->out->lost_ns = elapsed(session);
        note(session, "a device was lost during the task", "");
        return false;
    }
    return true;
}

/* Gauges: memory in use and throttle reasons; at the end also the energy counter. */
static void read_gauges(nvml_session *session, bool last) {
    uint64_t sum = 0;
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        if (!reader->out->lost &&
            survives(session, reader,
                     nvml_reader_memory(reader, &session->api, elapsed(session))) &&
            survives(session, reader, nvml_reader_health(reader, &session->api, last))) {
            sum += reader->out->used.last_bytes;
        }
    }
    if (sum > session->snapshot.peak_used_bytes) {
        session->snapshot.peak_used_bytes = sum;
    }
}

static void read_utilization(nvml_session *session) {
    int64_t known_by_all = INT64_MAX;
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        int64_t known = 0;
        if (!reader->out->lost &&
            survives(session, reader,
                     nvml_reader_utilization(reader, &session->api, elapsed(session),
                                             &session->busy, &known))) {
            known_by_all = known < known_by_all ? known : known_by_all;
        }
        if (reader->out->mig.is_instance && reader->rates_absent) {
            note(session, "the driver tells no utilization of MIG instances on this device", "");
        }
    }
    if (known_by_all != INT64_MAX) {
        probe_union_settle(&session->busy, known_by_all);
    }
}

/* After what matters more, in case that the driver hangs. */
static void read_activity(nvml_session *session, bool last) {
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        if (!reader->out->lost) {
            nvml_gpm_read_activity(reader, &session->api, elapsed(session), last);
        }
    }
}

static bool has_source(const nvml_session *session, probe_utilization_source source) {
    for (int i = 0; i < session->snapshot.count; i++) {
        if (session->snapshot.device[i].utilization_source == source) {
            return true;
        }
    }
    return false;
}

/* A poll of the latest rate in step with a periodic load always sees the same phase of it: polls
 * are spread at random over the interval. */
static int64_t jitter(nvml_session *session, int64_t interval_ns) {
    session->random = session->random * 1103515245U + 12345U;
    return interval_ns / 2 + (int64_t)(session->random >> 16 & 0x7fff) * interval_ns / 0x8000;
}

static void read_due(nvml_session *session, bool last) {
    int64_t now = elapsed(session);
    if (last || now >= session->next_gauges_ns) {
        read_gauges(session, last);
        session->next_gauges_ns = now + session->config.interval_ns;
    }
    if (last || now >= session->next_drain_ns) {
        read_utilization(session);
        read_activity(session, last);
        int64_t pause_ns = now < early_ns ? drain_early_ns : session->drain_ns;
        if (pause_ns > NVML_GPM_PAUSE_NS && has_source(session, PROBE_UTILIZATION_GPM)) {
            pause_ns = NVML_GPM_PAUSE_NS;
        }
        session->next_drain_ns = now + (has_source(session, PROBE_UTILIZATION_RATES)
                                            ? jitter(session, session->config.interval_ns)
                                            : pause_ns);
    }
}

static bool reads_nothing(const nvml_session *session) {
    return session->snapshot.count == 0 || session->stopped;
}

void nvml_session_open(nvml_session *session, const nvml_session_config *config) {
    session->config = *config;
    session->random = config->seed;
    session->drain_ns = config->interval_ns < drain_min_ns ? drain_min_ns : config->interval_ns;
    session->drain_ns = session->drain_ns > drain_max_ns ? drain_max_ns : session->drain_ns;
    start(session);
    stamp(session);
}

int64_t nvml_session_due_ns(const nvml_session *session) {
    if (reads_nothing(session)) {
        return INT64_MAX;
    }
    return session->next_gauges_ns < session->next_drain_ns ? session->next_gauges_ns
                                                            : session->next_drain_ns;
}

void nvml_session_tick(nvml_session *session) {
    read_due(session, false);
    stamp(session);
}

void nvml_session_finish(nvml_session *session) {
    if (!reads_nothing(session)) {
        read_due(session, true);
    }
    session->snapshot.final = true;
    stamp(session);
}
