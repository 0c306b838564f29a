#include "api.h"

#include "answer.h"
#include "mock_clock.h"

#include <pthread.h>

enum { SETS_MAX = 32, STEP_US = 1000 };

static const unsigned long long TYPES[] = {NVML_EVENT_XID, NVML_EVENT_ECC_DBE, NVML_EVENT_ECC_SBE,
                                           NVML_EVENT_GPU_UNAVAILABLE, NVML_EVENT_GPU_RECOVERY};
enum { TYPE_COUNT = sizeof TYPES / sizeof TYPES[0] };

typedef struct {
    bool allocated;
    unsigned long long types[MOCK_DEVICES_MAX]; /* listened to; 0: none */
    int64_t since_ns[MOCK_DEVICES_MAX];         /* when that began */
    bool told[MOCK_EVENTS_MAX];
} event_set;

/* The sets that callers hold. Guarded by lock. */
static struct {
    pthread_mutex_t lock;
    event_set sets[SETS_MAX];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
    (void)pthread_mutex_lock(&pool.lock); /* cannot fail for a default mutex */
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&pool.lock);
}

/* Needs the lock. The allocated set behind a handle, or NULL. */
static event_set *find(const void *handle) {
    for (int i = 0; i < SETS_MAX; i++) {
        if (handle == &pool.sets[i] && pool.sets[i].allocated) {
            return &pool.sets[i];
        }
    }
    return NULL;
}

nvml_return nvmlEventSetCreate(void **set) {
    mock_call call = mock_call_begin("nvmlEventSetCreate", MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK && set == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        call.rc = NVML_E_MEMORY;
        lock();
        for (int i = 0; i < SETS_MAX && call.rc != NVML_OK; i++) {
            if (!pool.sets[i].allocated) {
                pool.sets[i] = (event_set){.allocated = true};
                *set = &pool.sets[i];
                call.rc = NVML_OK;
            }
        }
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlEventSetFree(void *set) {
    mock_call call = mock_call_begin("nvmlEventSetFree", MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK) {
        lock();
        event_set *found = find(set);
        if (found == NULL) {
            call.rc = NVML_E_INVALID_ARGUMENT;
        } else {
            found->allocated = false;
        }
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

static unsigned long long supported_types(void) {
    unsigned long long all = 0;
    for (int i = 0; i < TYPE_COUNT; i++) {
        all |= TYPES[i];
    }
    return all;
}

nvml_return nvmlDeviceGetSupportedEventTypes(nvml_device device, unsigned long long *types) {
    mock_call call = mock_begin_filling("nvmlDeviceGetSupportedEventTypes", device, types);
    if (call.rc == NVML_OK) {
        *types = supported_types();
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types, void *set) {
    mock_call call = mock_call_begin_handle("nvmlDeviceRegisterEvents", device);
    if (call.rc == NVML_OK && (types & ~supported_types()) != 0) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    if (call.rc == NVML_OK) {
        lock();
        event_set *found = find(set);
        if (found == NULL) {
            call.rc = NVML_E_INVALID_ARGUMENT;
        } else {
            found->types[call.index] |= types;
            found->since_ns[call.index] = call.t_ns;
        }
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

/* Needs the lock. The oldest event until t_ns that a set listens to and was not told of, or -1. */
static int64_t next_event(const event_set *set, const mock_scenario *scenario, int64_t t_ns) {
    int64_t oldest = -1;
    for (int64_t i = 0; i < scenario->event_count; i++) {
        const mock_event *e = &scenario->events[i];
        if (!set->told[i] && (set->types[e->device] & TYPES[e->type]) != 0 && e->t_ns <= t_ns &&
            e->t_ns > set->since_ns[e->device] &&
            (oldest < 0 || e->t_ns < scenario->events[oldest].t_ns)) {
            oldest = i;
        }
    }
    return oldest;
}

/* TIMEOUT: nothing happened until t_ns. */
static nvml_return take(void *set, const mock_scenario *scenario, int64_t t_ns,
                        nvml_event_data *data) {
    nvml_return rc = NVML_E_TIMEOUT;
    lock();
    event_set *found = find(set);
    int64_t i = found == NULL ? -1 : next_event(found, scenario, t_ns);
    if (found == NULL) {
        rc = NVML_E_INVALID_ARGUMENT;
    } else if (i >= 0) {
        const mock_event *e = &scenario->events[i];
        const mock_mig *mig = mock_scenario_mig(scenario, e->device, e->mig);
        found->told[i] = true;
        *data = (nvml_event_data){
            .device = mock_device_handle(&scenario->devices[e->device]),
            .type = TYPES[e->type],
            .data = (unsigned long long)e->data,
            .gpu_instance_id = mig == NULL ? NVML_NO_INSTANCE : (unsigned int)mig->gi,
            .compute_instance_id = mig == NULL ? NVML_NO_INSTANCE : (unsigned int)mig->ci};
        rc = NVML_OK;
    }
    unlock();
    return rc;
}

/* Waits in steps, without the lock: another thread may free the set. */
static mock_call wait(const char *function, void *set, nvml_event_data *data,
                      unsigned int timeout_ms) {
    mock_call call = mock_call_begin(function, MOCK_NO_DEVICE, NVML_OK);
    if (call.rc != NVML_OK) {
        return call;
    }
    for (unsigned int waited_ms = 0;; waited_ms++) {
        call.rc = take(set, call.scenario, waited_ms == 0 ? call.t_ns : mock_call_now_ns(), data);
        if (call.rc != NVML_E_TIMEOUT || waited_ms >= timeout_ms) {
            return call;
        }
        mock_clock_pass(STEP_US);
    }
}

nvml_return nvmlEventSetWait_v2(void *set, nvml_event_data *data, unsigned int timeout_ms) {
    if (data == NULL) {
        mock_call call = mock_call_begin("nvmlEventSetWait_v2", MOCK_NO_DEVICE, NVML_OK);
        return mock_call_end(&call, call.rc == NVML_OK ? NVML_E_INVALID_ARGUMENT : call.rc);
    }
    mock_call call = wait("nvmlEventSetWait_v2", set, data, timeout_ms);
    return mock_call_end(&call, call.rc);
}

/* Before instances were known, the structure ended with the data. */
nvml_return nvmlEventSetWait(void *set, nvml_event_data *data, unsigned int timeout_ms) {
    nvml_event_data found = {0};
    mock_call call = wait("nvmlEventSetWait", set, &found, timeout_ms);
    if (call.rc == NVML_OK && data == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        data->device = found.device;
        data->type = found.type;
        data->data = found.data;
    }
    return mock_call_end(&call, call.rc);
}
