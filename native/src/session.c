#include "probe.h"

#include "clock.h"
#include "gpu_request.h"
#include "measurement.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef enum { SESSION_STARTING, SESSION_RUNNING, SESSION_FAILED, SESSION_STOPPED } session_state;

struct probe_session {
    pthread_t thread;
    pid_t owner; /* a forked child has this memory, but not the thread */
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* the thread has something to do */
    pthread_cond_t answered; /* the thread has done it */
    /* below: guarded by lock */
    session_state state;
    bool stop;
    bool snapshot_wanted;
    probe_measurement_config config;
    char workdir[PATH_MAX], trace_file[PATH_MAX], helper_path[PATH_MAX], nvml_library[PATH_MAX],
        gpus[PATH_MAX];
    char file_error[PATH_MAX + 256];
    probe_measurement measurement; /* of the thread, which holds the lock whenever it writes */
};

static void explain_file_error(probe_session *s) {
    const probe_error *error = &s->measurement.file_error;
    if (error->status == PROBE_OK) {
        s->file_error[0] = '\0';
    } else {
        (void)snprintf(s->file_error, sizeof s->file_error, "%s: %s: %s", error->what,
                       error->detail, strerror(error->sys_errno));
    }
}

static void wait_until_due(probe_session *s) {
    int64_t due = probe_measurement_next_ns(&s->measurement);
    struct timespec until = {.tv_sec = due / PROBE_NS_PER_S, .tv_nsec = due % PROBE_NS_PER_S};
    (void)pthread_cond_timedwait(&s->wake, &s->lock, &until);
}

/* A write that may hang. */
typedef struct {
    struct probe_trace_desk *desk;
    probe_trace_deliver deliver;
    int channel;
} writing;

static void *write_traces(void *argument) {
    writing w = *(writing *)argument;
    free(argument);
    probe_trace_writer_serve(w.desk, w.deliver, w.channel);
    return NULL;
}

/* This program cannot be forked: a thread writes. Started by the measuring thread, it has all
 * signals blocked, too. */
static int start_writer(struct probe_trace_desk *desk, probe_trace_deliver deliver, int channel,
                        pid_t *pid) {
    pthread_t thread;
    *pid = 0;
    writing *w = malloc(sizeof *w);
    int code = w == NULL ? ENOMEM : 0;
    if (code == 0) {
        *w = (writing){desk, deliver, channel};
        code = pthread_create(&thread, NULL, write_traces, w);
    }
    if (code == 0) {
        (void)pthread_detach(thread);
    } else {
        free(w);
        (void)close(channel);
    }
    return code;
}

/* A checkpoint that somebody waits for. */
static void checkpoint(probe_session *s) {
    s->measurement.awaited = true;
    probe_measurement_checkpoint(&s->measurement);
    s->measurement.awaited = false;
}

/* The measuring thread. It never calls into Python and takes no lock but ours. */
static void *measure(void *argument) {
    probe_session *s = argument;
    probe_measurement *m = &s->measurement;
    (void)pthread_mutex_lock(&s->lock);
    (void)probe_measurement_open(m, &s->config); /* in-process, nothing nests */
    if (m->file_error.status == PROBE_OK) {
        probe_measurement_start(m);
        probe_measurement_begin(m);
    }
    if (m->file_error.status == PROBE_OK) {
        checkpoint(s);
    }
    explain_file_error(s);
    s->state = m->file_error.status == PROBE_OK ? SESSION_RUNNING : SESSION_FAILED;
    (void)pthread_cond_broadcast(&s->answered);
    while (s->state == SESSION_RUNNING && !s->stop) {
        if (s->snapshot_wanted) {
            checkpoint(s);
            explain_file_error(s);
            s->snapshot_wanted = false;
            (void)pthread_cond_broadcast(&s->answered);
        }
        wait_until_due(s);
        probe_measurement_step(m);
    }
    if (s->state == SESSION_RUNNING) {
        const probe_outcome none = {0};
        int64_t end_ns = probe_clock_mono_ns();
        probe_measurement_end(m);
        probe_measurement_finish(m, end_ns, &none);
        explain_file_error(s);
        s->state = SESSION_STOPPED;
    }
    probe_measurement_close(m);
    s->snapshot_wanted = false;
    (void)pthread_cond_broadcast(&s->answered);
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Copies a string that may be NULL. False: it is too long. */
static bool copy(const char *from, char to[PATH_MAX], const char **slot) {
    *slot = from == NULL ? NULL : to;
    return from == NULL || snprintf(to, PATH_MAX, "%s", from) < PATH_MAX;
}

static int start_thread(probe_session *s) {
    pthread_condattr_t monotonic;
    int code = pthread_condattr_init(&monotonic);
    code = code != 0 ? code : pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    code = code != 0 ? code : pthread_cond_init(&s->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    code = code != 0 ? code : pthread_cond_init(&s->answered, NULL);
    code = code != 0 ? code : pthread_mutex_init(&s->lock, NULL);
    if (code != 0) {
        return code;
    }
    sigset_t all, before; /* the program's signals are for its own threads */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&s->thread, NULL, measure, s);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* False, with the reason in error: something in it is wrong. */
static bool take_config(probe_session *s, const probe_session_config *config, char *error,
                        size_t error_size) {
    if (!copy(config->workdir, s->workdir, &s->config.workdir) ||
        !copy(config->trace_file, s->trace_file, &s->config.trace_file) ||
        !copy(config->helper_path, s->helper_path, &s->config.helper_path) ||
        !copy(config->nvml_library, s->nvml_library, &s->config.nvml_library) ||
        !copy(config->gpus, s->gpus, &s->config.gpus)) {
        (void)snprintf(error, error_size, "a path is longer than %d bytes", PATH_MAX);
        return false;
    }
    if (config->gpus != NULL && !probe_gpu_option_valid(config->gpus)) {
        (void)snprintf(error, error_size,
                       "gpus is '%.80s', which is none of auto, none, all and a list of indices "
                       "and UUIDs, such as 0,2 or GPU-8932f9",
                       config->gpus);
        return false;
    }
    return true;
}

probe_session *probe_session_start(const probe_session_config *config, char *error,
                                   size_t error_size) {
    probe_session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)snprintf(error, error_size, "no memory");
        return NULL;
    }
    s->owner = getpid();
    /* The descriptors are the program's: ours are few. */
    s->config = (probe_measurement_config){
        .scope = PROBE_SCOPE_PROCESS,
        .interval_ns = config->interval_ns,
        .max_descriptors = 64,
        .start_writer = start_writer,
    };
    if (!take_config(s, config, error, error_size)) {
        free(s);
        return NULL;
    }
    int code = start_thread(s);
    if (code != 0) {
        (void)snprintf(error, error_size, "the measuring thread could not be started: %s",
                       strerror(code));
        free(s);
        return NULL;
    }
    (void)pthread_mutex_lock(&s->lock);
    while (s->state == SESSION_STARTING) {
        (void)pthread_cond_wait(&s->answered, &s->lock);
    }
    bool failed = s->state == SESSION_FAILED;
    (void)pthread_mutex_unlock(&s->lock);
    if (failed) {
        (void)pthread_join(s->thread, NULL);
        (void)snprintf(error, error_size, "%s", s->file_error);
        probe_session_free(s);
        return NULL;
    }
    return s;
}

/* With the lock held. */
static int64_t copy_trace(const probe_session *s, char *json, size_t size) {
    const probe_measurement *m = &s->measurement;
    if (m->json_length == 0 || m->json_length >= size) {
        return -1;
    }
    memcpy(json, m->json, m->json_length + 1);
    return (int64_t)m->json_length;
}

int64_t probe_session_snapshot(probe_session *s, char *json, size_t size) {
    if (getpid() != s->owner) {
        return -1;
    }
    (void)pthread_mutex_lock(&s->lock);
    if (s->state == SESSION_RUNNING) {
        s->snapshot_wanted = true;
        (void)pthread_cond_signal(&s->wake);
    }
    while (s->snapshot_wanted) {
        (void)pthread_cond_wait(&s->answered, &s->lock);
    }
    int64_t length = s->state == SESSION_RUNNING ? copy_trace(s, json, size) : -1;
    (void)pthread_mutex_unlock(&s->lock);
    return length;
}

int64_t probe_session_stop(probe_session *s, char *json, size_t size) {
    if (getpid() != s->owner) {
        return -1;
    }
    (void)pthread_mutex_lock(&s->lock);
    s->stop = true;
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->thread, NULL);
    return copy_trace(s, json, size); /* the thread has ended */
}

const char *probe_session_file_error(const probe_session *s) {
    return s->file_error;
}

void probe_session_free(probe_session *s) {
    if (!s->measurement.abandoned) {
        free(s);
    }
}

size_t probe_session_trace_size(void) {
    return PROBE_TRACE_SIZE;
}

const char *probe_version(void) {
    return PROBE_VERSION;
}
