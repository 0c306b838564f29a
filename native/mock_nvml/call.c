#include "call.h"

#include "codes.h"
#include "mock_clock.h"
#include "rules.h"
#include "scenario_fields.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum { NOT_LOADED, LOADED, REFUSED } load_state;

/* NVML is a library with state by contract, and thread-safe: everything here is guarded by lock,
 * but for the scenario, which never changes once it is loaded. */
static struct {
    pthread_mutex_t lock;
    pthread_mutex_t driver; /* of the scenario's global_lock */
    load_state load;
    int64_t references; /* nvmlInit* less nvmlShutdown */
    int64_t t0_ns;      /* CLOCK_MONOTONIC */
    int64_t base_us, wall_us;
    mock_rule_state rules[MOCK_RULES_MAX];
    bool log_tried, log_open;
    int log_fd;
    char error[MOCK_ERROR_SIZE]; /* why the scenario was refused */
    mock_scenario scenario;
} process_state = {.lock = PTHREAD_MUTEX_INITIALIZER, .driver = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
    (void)pthread_mutex_lock(&process_state.lock); /* cannot fail for a default mutex */
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&process_state.lock);
}

/* The time stamp of T0 in the clock that the driver pretends to use. */
static int64_t base_us(int64_t clock, int64_t t0_ns) {
    if (clock == MOCK_CLOCK_RELATIVE) {
        return MOCK_RELATIVE_BASE_US;
    }
    clockid_t domain = clock == MOCK_CLOCK_BOOT ? CLOCK_BOOTTIME : CLOCK_REALTIME;
    int64_t ago_ns = mock_clock_ns(CLOCK_MONOTONIC) - t0_ns;
    return (mock_clock_ns(domain) - ago_ns) / 1000;
}

/* Needs the lock. Where the scenario's time 0 lies. */
static void set_t0(int64_t t0_ns) {
    process_state.t0_ns = mock_clock_is_virtual() ? mock_clock_virtual_t0_ns() : t0_ns;
    process_state.base_us = base_us(process_state.scenario.clock, process_state.t0_ns);
    process_state.wall_us = base_us(MOCK_CLOCK_EPOCH, process_state.t0_ns);
}

void mock_call_set_time(int64_t t_ns) {
    lock();
    mock_clock_set(t_ns);
    set_t0(process_state.t0_ns);
    unlock();
}

/* Needs the lock. Loads once in the life of the process: a second nvmlInit* neither moves T0 nor
 * repeats the message. */
static bool ensure_loaded(void) {
    if (process_state.load != NOT_LOADED) {
        return process_state.load == LOADED;
    }
    const char *t0 = getenv("NVMLMOCK_T0");
    int64_t t0_ns = mock_clock_ns(CLOCK_MONOTONIC);
    bool good = mock_scenario_load(getenv("NVMLMOCK_SCENARIO"), &process_state.scenario,
                                   process_state.error);
    if (good && t0 != NULL && !mock_parse_fixed(t0, 0, &t0_ns)) {
        (void)snprintf(process_state.error, sizeof process_state.error,
                       "NVMLMOCK_T0=%s: allowed is a time of CLOCK_MONOTONIC in ns", t0);
        good = false;
    }
    if (!good) {
        (void)fprintf(stderr, "mock NVML: %s\n", process_state.error);
    }
    process_state.load = good ? LOADED : REFUSED;
    set_t0(t0_ns);
    return good;
}

const char *mock_call_error_text(nvml_return code) {
    lock();
    bool refused = process_state.load == REFUSED && code == NVML_E_UNKNOWN;
    unlock();
    return refused ? process_state.error : mock_code_text(code);
}

/* Descriptor of the call log, opened at the first call; -1: none is wanted or possible. */
static int log_descriptor(void) {
    lock();
    if (!process_state.log_tried) {
        const char *path = getenv("NVMLMOCK_LOG");
        process_state.log_tried = true;
        if (path != NULL) {
            process_state.log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
            process_state.log_open = process_state.log_fd >= 0;
        }
    }
    int fd = process_state.log_open ? process_state.log_fd : -1;
    unlock();
    return fd;
}

/* One write for one line, so that lines of several threads and processes never mix. */
static void log_call(const mock_call *call, const char *outcome) {
    int fd = log_descriptor();
    if (fd < 0) {
        return;
    }
    char device[24] = "-", line[192];
    if (call->index >= 0) {
        (void)snprintf(device, sizeof device, "%" PRId64, call->index);
    }
    if (call->mig != NULL) {
        (void)snprintf(device, sizeof device, "%" PRId64 ".%" PRId64, call->index,
                       call->mig->index);
    }
    int n = snprintf(line, sizeof line, "%.6f %ld %s %s %s\n",
                     (double)call->t_ns / (double)MOCK_NS_PER_S, (long)syscall(SYS_gettid),
                     call->function, device, outcome);
    if (n > 0 && (size_t)n < sizeof line && write(fd, line, (size_t)n) != n) {
        (void)fprintf(stderr, "mock NVML: the call log cannot be written\n");
    }
}

/* As a fault in the driver's own code would: on memory that is there and may not be written. */
_Noreturn static void crash(void) {
    volatile char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        *page = 1;
    }
    abort();
}

/* Carries a verdict out, without the lock: other threads go on meanwhile. */
static void carry_out(const mock_call *call, const mock_verdict *verdict) {
    if (verdict->delay_us > 0) {
        mock_clock_pass(verdict->delay_us);
    }
    if (verdict->hang) {
        log_call(call, "hang");
        for (;;) {
            (void)pause();
        }
    }
    if (verdict->crash) {
        log_call(call, "crash");
        crash();
    }
}

/* The same, one call at a time where the scenario has a global lock: whoever is slow or hangs keeps
 * all others waiting. */
static void serve(const mock_call *call, const mock_verdict *verdict) {
    bool locked = call->scenario != NULL && call->scenario->global_lock != 0;
    if (locked) {
        (void)pthread_mutex_lock(&process_state.driver); /* as above */
    }
    carry_out(call, verdict);
    if (locked) {
        (void)pthread_mutex_unlock(&process_state.driver);
    }
}

static mock_call begin(const char *function, int64_t index, const mock_mig *mig,
                       bool must_be_initialised) {
    mock_call call = {.function = function, .index = index, .mig = mig};
    mock_verdict verdict = {.code = NVML_E_UNINITIALIZED};
    lock();
    if (process_state.load == LOADED) {
        call.scenario = &process_state.scenario;
        call.base_us = process_state.base_us;
        call.wall_us = process_state.wall_us;
        call.t_ns = mock_clock_ns(CLOCK_MONOTONIC) - process_state.t0_ns;
        if (!must_be_initialised || process_state.references > 0) {
            mock_subject subject = {function, index, mig == NULL ? -1 : mig->index, -1};
            verdict = mock_rules_judge(call.scenario, process_state.rules, &subject, call.t_ns);
        }
    }
    unlock();
    serve(&call, &verdict);
    call.rc = verdict.code;
    return call;
}

nvml_return mock_call_judge_field(const mock_call *call, unsigned int field) {
    mock_subject subject = {call->function, call->index, -1, field};
    lock();
    mock_verdict verdict =
        mock_rules_judge(call->scenario, process_state.rules, &subject, call->t_ns);
    unlock();
    return verdict.code;
}

mock_call mock_call_begin_on(const char *function, int64_t index, const mock_mig *mig,
                             nvml_return otherwise) {
    mock_call call = begin(function, index, mig, true);
    if (call.rc != NVML_OK || index == MOCK_NO_DEVICE) {
        return call;
    }
    if (index >= 0 && index < call.scenario->device_count) {
        call.device = &call.scenario->devices[index];
    } else {
        call.rc = otherwise;
    }
    return call;
}

mock_call mock_call_begin(const char *function, int64_t index, nvml_return otherwise) {
    return mock_call_begin_on(function, index, NULL, otherwise);
}

mock_call mock_call_begin_any_handle(const char *function, nvml_device handle) {
    const mock_scenario *scenario = &process_state.scenario;
    for (int64_t i = 0; i < MOCK_MIGS_MAX; i++) {
        if (handle == mock_mig_handle(&scenario->migs[i])) {
            return mock_call_begin_on(function, scenario->migs[i].device, &scenario->migs[i],
                                      NVML_E_INVALID_ARGUMENT);
        }
    }
    int64_t index = MOCK_DEVICES_MAX - 1;
    while (index >= 0 && handle != mock_device_handle(&scenario->devices[index])) {
        index--;
    }
    return mock_call_begin_on(function, index < 0 ? MOCK_UNKNOWN_DEVICE : index, NULL,
                              NVML_E_INVALID_ARGUMENT);
}

mock_call mock_call_begin_handle(const char *function, nvml_device handle) {
    mock_call call = mock_call_begin_any_handle(function, handle);
    if (call.rc == NVML_OK && call.mig != NULL) {
        call.rc = NVML_E_NOT_SUPPORTED;
    }
    return call;
}

nvml_return mock_call_end(const mock_call *call, nvml_return rc) {
    char outcome[16];
    (void)snprintf(outcome, sizeof outcome, "%d", rc);
    log_call(call, outcome);
    return rc;
}

nvml_return mock_call_init(const char *function) {
    lock();
    bool loaded = ensure_loaded();
    unlock();
    mock_call call = begin(function, MOCK_NO_DEVICE, NULL, false);
    if (!loaded) {
        call.rc = NVML_E_UNKNOWN;
    }
    if (call.rc == NVML_OK) {
        lock();
        process_state.references++;
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

nvml_return mock_call_shutdown(const char *function) {
    mock_call call = begin(function, MOCK_NO_DEVICE, NULL, true);
    if (call.rc == NVML_OK) {
        lock();
        /* Another thread may have shut down since. */
        call.rc = process_state.references > 0 ? NVML_OK : NVML_E_UNINITIALIZED;
        process_state.references -= call.rc == NVML_OK;
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

nvml_device mock_device_handle(const mock_device *device) {
    return &process_state.scenario.devices[device - process_state.scenario.devices];
}

nvml_device mock_mig_handle(const mock_mig *mig) {
    return &process_state.scenario.migs[mig - process_state.scenario.migs];
}

int64_t mock_call_now_ns(void) {
    lock();
    int64_t now_ns = mock_clock_ns(CLOCK_MONOTONIC) - process_state.t0_ns;
    unlock();
    return now_ns;
}

const mock_scenario *mock_call_scenario(void) {
    lock();
    bool loaded = process_state.load == LOADED;
    unlock();
    return loaded ? &process_state.scenario : NULL;
}
