#include "nvml_session.h"

#include "clock.h"
#include "nvml_api.h"
#include "nvml_choice.h"
#include "nvml_device.h"
#include "nvml_events.h"
#include "nvml_gpm.h"
#include "nvml_health.h"
#include "nvml_memory.h"
#include "nvml_note.h"

static const int64_t lists_ns = 30 * PROBE_NS_PER_S; /* process lists are slow */

/* Below this, --interval makes only /proc's samples closer: a poll costs the driver something. */
static const int64_t interval_min_ns = PROBE_NS_PER_S;

/* The rings hold ten seconds or more: a drain every five seconds at least sees every entry. At
 * first they are closer, so that a helper that does not live long has something to tell. */
static const int64_t drain_min_ns = 500 * PROBE_NS_PER_MS, drain_max_ns = 5 * PROBE_NS_PER_S;

/* Between two polls of rates, whatever the interval: a reading stands for two seconds at most. With
 * memory and health, they stay within three calls per device and second. */
static const int64_t rates_ns = 1200 * PROBE_NS_PER_MS;

static int64_t elapsed(const nvml_session *session) {
    return session->config.clock_ns(CLOCK_MONOTONIC) - session->config.start_ns;
}

static void note(nvml_session *session, const char *text, const char *detail) {
    nvml_note(&session->snapshot, text, detail);
}

/* Brings up to date what the snapshot says of all devices together, and publishes it. */
static void show(nvml_session *session) {
    session->snapshot.written_ns = elapsed(session);
    session->snapshot.busy_ns = probe_union_length(&session->busy);
    if (session->config.page != NULL) {
        probe_gpu_publish(session->config.page, &session->snapshot);
    }
}

static bool load(nvml_session *session) {
    probe_error error = {0};
    if (nvml_api_load(&session->api, session->config.library, &error) != PROBE_OK) {
        note(session, error.what, error.detail);
        return false;
    }
    session->snapshot.mock = session->api.mock;
    return true;
}

/* One try to initialise NVML and to choose the devices. False: another one may do better. */
static bool try_to_start(nvml_session *session, bool last_try) {
    session->snapshot.note[0] = '\0'; /* what the try before complained about */
    if (!session->initialised) {
        nvml_return code = session->api.init();
        if (code != NVML_OK) {
            note(session, "NVML could not be initialised", session->api.error_string(code));
            return nvml_classify(code) != NVML_TRANSIENT;
        }
        session->initialised = true;
    }
    char *driver = session->snapshot.driver;
    bool known = session->api.driver_version(driver, NVML_DRIVER_SIZE) == NVML_OK;
    driver[known ? NVML_DRIVER_SIZE - 1 : 0] = '\0';
    return nvml_choose_devices(session, last_try);
}

/* Nothing is read before the devices are known for sure, or known not to become so. The driver's
 * history makes up for the time. */
static void start(nvml_session *session, bool last_try) {
    static const int64_t pause_first_ns = 100 * PROBE_NS_PER_MS;
    enum { TRIES_MAX = 6 };
    session->tries++;
    last_try = last_try || session->tries == TRIES_MAX;
    session->starting = !try_to_start(session, last_try) && !last_try;
    session->next_try_ns = elapsed(session) + (pause_first_ns << (session->tries - 1));
}

static void poll_events(nvml_session *session, int most) {
    nvml_events_poll(&session->api, session->events, session->reader, session->snapshot.count,
                     elapsed(session), most);
}

/* True: go on with this device. The driver takes all with it. */
static bool survives(nvml_session *session, nvml_reader *reader, nvml_class result) {
    if (result != NVML_LIBRARY_GONE && result != NVML_DEVICE_GONE) {
        return true;
    }
    session->stopped = result == NVML_LIBRARY_GONE;
    for (int i = 0; i < session->snapshot.count; i++) {
        probe_gpu_device *device = &session->snapshot.device[i];
        if (!device->lost && (session->stopped || device == reader->out)) {
            device->lost = true;
            device->lost_ns = elapsed(session);
        }
    }
    if (session->stopped) {
        note(session, "the driver stopped answering during the task", "");
    } else {
        nvml_note_lost(&session->snapshot, reader->out);
    }
    poll_events(session, NVML_EVENTS_AT_END); /* they may say why */
    return false;
}

/* Memory of one device. One that does not tell is asked half as often, and no more rarely: there is
 * no other source, and each second that is missed is a hole. */
static nvml_class read_memory(nvml_session *session, nvml_reader *reader, bool last) {
    const int64_t now_ns = elapsed(session);
    const probe_gauge *used = &reader->out->used;
    if (!last && nvml_rung_rests(&reader->memory_rung, now_ns)) {
        return NVML_TRANSIENT;
    }
    nvml_class result = nvml_reader_memory(reader, &session->api, now_ns, last);
    bool told = used->any && used->last_ns == now_ns;
    (void)nvml_rung_judge(&reader->memory_rung, told ? NVML_OK : NVML_E_NO_DATA, now_ns);
    const int64_t rest_max_ns = 2 * session->config.interval_ns;
    if (reader->memory_rung.rests_until_ns > now_ns + rest_max_ns) {
        reader->memory_rung.rests_until_ns = now_ns + rest_max_ns;
    }
    return result;
}

/* Memory in use. */
static void read_gauges(nvml_session *session, bool last) {
    uint64_t sum = 0;
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        if (!reader->out->lost && survives(session, reader, read_memory(session, reader, last))) {
            sum += reader->out->used.last_bytes;
        }
    }
    if (sum > session->snapshot.peak_used_bytes) {
        session->snapshot.peak_used_bytes = sum;
        session->snapshot.peak_used_ns = elapsed(session);
    }
}

/* Somewhere between the two, at random. What shows the rates of the moment in step with a periodic
 * load always sees the same phase of it. */
static int64_t jitter(nvml_session *session, int64_t least_ns, int64_t most_ns) {
    session->random = session->random * 1103515245U + 12345U;
    return least_ns + (int64_t)(session->random >> 16 & 0x7fff) * (most_ns - least_ns) / 0x8000;
}

/* Until a device's next reading. At first as long as the task has run so far: a driver that hangs
 * takes at most half of it along. */
static int64_t utilization_pause_ns(nvml_session *session, const nvml_reader *reader,
                                    int64_t now_ns) {
    if (reader->out->utilization_source == PROBE_UTILIZATION_RATES) {
        return jitter(session, rates_ns / 2, rates_ns / 2 * 3);
    }
    int64_t most_ns = reader->out->utilization_source == PROBE_UTILIZATION_GPM
                          ? NVML_GPM_PAUSE_NS
                          : jitter(session, drain_max_ns / 5 * 3, drain_max_ns);
    int64_t pause = now_ns > drain_min_ns ? now_ns : drain_min_ns;
    return pause < most_ns ? pause : most_ns;
}

static void read_device(nvml_session *session, nvml_reader *reader) {
    int64_t now_ns = elapsed(session), known_ns = 0;
    nvml_class result =
        nvml_reader_utilization(reader, &session->api, now_ns, &session->busy, &known_ns);
    reader->known_ns = known_ns > reader->known_ns ? known_ns : reader->known_ns;
    reader->next_utilization_ns = now_ns + utilization_pause_ns(session, reader, now_ns);
    reader->activity_follows = survives(session, reader, result);
    if (reader->out->mig.is_instance && reader->rates_rung.absent) {
        note(session, "the driver tells no utilization of MIG instances on this device", "");
    }
}

static void read_utilization(nvml_session *session, bool all) {
    int64_t known_by_all = INT64_MAX;
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        if (!reader->out->lost && (all || elapsed(session) >= reader->next_utilization_ns)) {
            read_device(session, reader);
            show(session); /* the next one may hang */
        }
        if (!reader->out->lost) {
            known_by_all = reader->known_ns < known_by_all ? reader->known_ns : known_by_all;
        }
    }
    if (known_by_all != INT64_MAX) {
        probe_union_settle(&session->busy, known_by_all);
    }
}

/* When the next device's utilization is due; INT64_MAX: all are lost. */
static int64_t next_utilization_ns(const nvml_session *session) {
    int64_t due_ns = INT64_MAX;
    for (int i = 0; i < session->snapshot.count; i++) {
        const nvml_reader *reader = &session->reader[i];
        if (!reader->out->lost && reader->next_utilization_ns < due_ns) {
            due_ns = reader->next_utilization_ns;
        }
    }
    return due_ns;
}

/* After what matters more, in case that the driver hangs, but as of the same time as utilization,
 * which it may have to continue. */
static void read_activity(nvml_session *session, bool last) {
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        if (!reader->out->lost && reader->activity_follows) {
            nvml_gpm_read_activity(reader, &session->api, elapsed(session), last);
        }
        reader->activity_follows = false;
    }
}

/* All devices, in the first and the last look also their counters. */
static void read_health(nvml_session *session, bool last) {
    bool first = !session->health_begun, alive = false;
    if (first) {
        session->events = nvml_events_open(&session->api, session->reader, session->snapshot.count,
                                           elapsed(session));
        session->health_begun = true;
    }
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        alive = alive || !session->snapshot.device[i].lost;
    }
    if (alive && !first) {
        poll_events(session, last ? NVML_EVENTS_AT_END : NVML_EVENTS_PER_POLL);
    }
    for (int i = 0; i < session->snapshot.count && !session->stopped; i++) {
        nvml_reader *reader = &session->reader[i];
        if (reader->out->lost || reader->out->mig.is_instance) { /* it is the parent's */
            continue;
        }
        if (first) {
            nvml_health_begin(reader, &session->api, elapsed(session));
        }
        nvml_health_read(reader, &session->api, elapsed(session), first || last);
        if (last) {
            nvml_health_end(reader, &session->api, elapsed(session));
            if (nvml_health_is_stuck(reader->out)) {
                note(session,
                     "a GPU reads 100 % busy throughout with no memory in use: its driver may be "
                     "stuck, which a reset or a reboot cures",
                     "");
            }
        }
    }
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

/* The lists are slow: they have a tick of their own, when nothing else is due, or is for too long.
 * The first reading, which a task may end upon, does not wait for them. */
static bool lists_due(const nvml_session *session, int64_t now_ns) {
    bool idle = now_ns < session->next_gauges_ns && now_ns < next_utilization_ns(session);
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
        show(session);
        session->next_gauges_ns = now + session->config.interval_ns;
    }
    if (last || now >= next_utilization_ns(session)) {
        read_utilization(session, last);
    }
    if (last || now >= session->next_health_ns) { /* now it is known who is busy */
        read_health(session, last);
        session->next_health_ns = now + PROBE_HEALTH_PAUSE_NS;
    }
    read_activity(session, last);
}

static bool reads_nothing(const nvml_session *session) {
    return session->starting || session->snapshot.count == 0 || session->stopped;
}

void nvml_session_open(nvml_session *session, const nvml_session_config *config) {
    session->config = *config;
    if (session->config.interval_ns < interval_min_ns) {
        session->config.interval_ns = interval_min_ns;
    }
    session->random = config->seed;
    if (load(session)) {
        start(session, false);
    }
    if (reads_nothing(session)) {
        show(session); /* why */
    }
}

int64_t nvml_session_due_ns(const nvml_session *session) {
    if (session->starting) {
        return session->next_try_ns;
    }
    if (reads_nothing(session)) {
        return INT64_MAX;
    }
    const int64_t dues_ns[] = {session->next_gauges_ns, session->next_health_ns,
                               session->next_lists_ns};
    int64_t due_ns = next_utilization_ns(session);
    for (size_t i = 0; i < sizeof dues_ns / sizeof dues_ns[0]; i++) {
        due_ns = dues_ns[i] < due_ns ? dues_ns[i] : due_ns;
    }
    return due_ns;
}

void nvml_session_tick(nvml_session *session) {
    if (session->starting) {
        start(session, false);
    }
    if (!reads_nothing(session)) {
        read_due(session, false);
    }
    show(session);
}

void nvml_session_finish(nvml_session *session) {
    if (session->starting) {
        start(session, true);
    }
    if (!reads_nothing(session)) {
        read_due(session, true);
    }
    session->snapshot.final = true;
    show(session);
}

void nvml_session_finish_lists(nvml_session *session) {
    if (!reads_nothing(session)) {
        read_lists(session, true);
        show(session);
    }
}
