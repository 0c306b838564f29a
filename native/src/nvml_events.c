#include "nvml_events.h"

#include <string.h>

void *nvml_events_open(const nvml_api *api, nvml_reader *readers, int count, int64_t now_ns) {
    void *set = NULL;
    bool any = false;
    if (api->event_set_create == NULL || api->register_events == NULL || api->event_wait == NULL ||
        api->event_set_create(&set) != NVML_OK) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        probe_gpu_health *out = &readers[i].out->health;
        const unsigned long long wanted = NVML_EVENT_XID | NVML_EVENT_ECC_DBE;
        out->events_valid = api->register_events(readers[i].handle, wanted, set) == NVML_OK ||
                            /* a board without ECC still has Xids */
                            api->register_events(readers[i].handle, NVML_EVENT_XID, set) == NVML_OK;
        out->events_ns = now_ns;
        any = any || out->events_valid;
    }
    return any ? set : NULL;
}

static bool is_known(const probe_xid *xids, int count, uint64_t number) {
    for (int i = 0; i < count; i++) {
        if (xids[i].number == number) {
            return true;
        }
    }
    return false;
}

/* The place is full, and its last entry, the newest so far, makes room. It stays, where it is the
 * first of its number, at the cost of one that repeats an earlier one. */
static void keep_newest(probe_xid *xids) {
    const int last = PROBE_XIDS_MAX - 1;
    if (is_known(xids, last, xids[last].number)) {
        return;
    }
    for (int i = last - 1; i > 0; i--) {
        if (is_known(xids, i, xids[i].number)) {
            memmove(xids + i, xids + i + 1, (size_t)(last - i) * sizeof *xids);
            return;
        }
    }
}

static void take(const nvml_event_data *event, probe_gpu_health *out, int64_t now_ns) {
    if ((event->type & NVML_EVENT_ECC_DBE) != 0) {
        if (out->double_bit_events < PROBE_ECC_EVENTS_MAX) {
            out->double_bit_ns[out->double_bit_events] = now_ns;
        }
        out->double_bit_events++;
    }
    if ((event->type & NVML_EVENT_XID) != 0) {
        if (out->xids >= PROBE_XIDS_MAX) {
            keep_newest(out->xid);
        }
        uint32_t place = out->xids < PROBE_XIDS_MAX ? out->xids : PROBE_XIDS_MAX - 1;
        out->xid[place] = (probe_xid){.number = event->data, .read_ns = now_ns};
        out->xids++;
    }
}

void nvml_events_poll(const nvml_api *api, void *set, nvml_reader *readers, int count,
                      int64_t now_ns, int most) {
    nvml_event_data event = {0};
    nvml_return code = set != NULL ? NVML_OK : NVML_E_UNINITIALIZED;
    for (int n = 0; n < most && code == NVML_OK; n++) {
        code = api->event_wait(set, &event, 0);
        for (int i = 0; i < count; i++) {
            if (code == NVML_OK && readers[i].handle == event.device &&
                readers[i].out->health.events_valid) {
                take(&event, &readers[i].out->health, now_ns);
                break;
            }
        }
        event = (nvml_event_data){0};
    }
    for (int i = 0; i < count && (code == NVML_OK || code == NVML_E_TIMEOUT); i++) {
        readers[i].out->health.events_ns = now_ns;
    }
}
