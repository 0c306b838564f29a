#include "nvml_session.h"

#include "clock.h"
#include "nvml_api.h"
#include "nvml_choice.h"
#include "nvml_device.h"
#include "nvml_gpm.h"
#include "nvml_health.h"
#include "nvml_memory.h"
#include "nvml_note.h"

static const int64_t lists_ns = 30 * PROBE_NS_PER_S; /* process lists are slow */

/* The rings hold ten seconds or more: a drain every few seconds sees every entry. In the first
 * second, so that a helper that does not live long has something to tell, they are closer. */
static const int64_t drain_min_ns = 3 * PROBE_NS_PER_S, drain_max_ns = 5 * PROBE_NS_PER_S,
                     early_ns = PROBE_NS_PER_S, drain_early_ns = 500 * PROBE_NS_PER_MS;

static int64_t elapsed(const nvml_session *session) {
    return session->config.clock_ns(CLOCK_MONOTONIC) - session->config.start_ns;
}

static void note(nvml_session *session, const char *text, const char *detail) {
    nvml_note(&session->snapshot, text, detail);
}

/* Brings up to date what the snapshot says of all devices together. */
static void stamp(nvml_session *session) {
    session->snapshot.written_ns = elapsed(session);
    session->snapshot.busy_ns = probe_union_length(&session->busy);
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
    nvml_choose_devices(session);
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

static void read_lists(nvml_session *session, bool last) {
    int64_t wall_ns = session->config.clock_ns(CLOCK_REALTIME);
    nvml_sharing_poll(&session->sharing, &session->api, &session->snapshot, last);
    if (last) {
        nvml_sharing_account(&session->sharing, &session->api, &session->snapshot,
                             (wall_ns - elapsed(session)) / 1000);
    }
    session->next_lists_ns = elapsed(session) + lists_ns;
}

/* With the memory and the throttle reasons of every interval, rates stay within three calls per
 * device and second. */
static int64_t rates_pause_ns(nvml_session *session) {
    return jitter(session, session->config.interval_ns / 5 * 6);
}

/* The lists are slow: they have a tick of their own, when nothing else is due, or is for too long.
 * The first reading, which a task may end upon, does not wait for them. */
static bool lists_due(const nvml_session *session, int64_t now_ns) {
    bool idle = now_ns < session->next_gauges_ns && now_ns < session->next_drain_ns;
    bool overdue = session->next_gauges_ns > 0 && now_ns >= session->next_lists_ns + PROBE_NS_PER_S;
    return now_ns >= session->next_lists_ns && (idle || overdue);
}

static void read_due(nvml_session *session, bool last) {
    int64_t now = elapsed(session);
    if (!last && lists_due(session, now)) {
        read_lists(session, false);
        return;
    }
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
        session->next_drain_ns =
            now +
            (has_source(session, PROBE_UTILIZATION_RATES) ? rates_pause_ns(session) : pause_ns);
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
    int64_t due_ns = session->next_gauges_ns < session->next_drain_ns ? session->next_gauges_ns
                                                                      : session->next_drain_ns;
    return session->next_lists_ns < due_ns ? session->next_lists_ns : due_ns;
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

void nvml_session_finish_lists(nvml_session *session) {
    if (!reads_nothing(session)) {
        read_lists(session, true);
        stamp(session);
    }
}
