/* The only process that talks to NVML. It is started by the wrapper or by the in-process sampler,
 * reads the devices on its own clock, and publishes into a shared page; whatever the driver does to
 * it, the task and its trace go on. It takes its last reading when a byte comes over its channel,
 * and ends at once when the channel closes. */
#include "clock.h"
#include "gpu_page.h"
#include "gpu_scope.h"
#include "nvml_api.h"
#include "nvml_device.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The rings hold ten seconds or more: a drain every few seconds sees every entry. In the first
 * second, so that a helper that does not live long has something to tell, they are closer. */
static const int64_t drain_min_ns = 2 * PROBE_NS_PER_S, drain_max_ns = 5 * PROBE_NS_PER_S,
                     early_ns = PROBE_NS_PER_S, drain_early_ns = 500 * PROBE_NS_PER_MS;

typedef struct {
    nvml_api api;
    probe_gpu_page *page;
    probe_gpu_snapshot snapshot;
    nvml_reader reader[PROBE_GPU_MAX];
    probe_union busy;
    int64_t start_ns, interval_ns, drain_ns;
    int64_t next_gauges_ns, next_drain_ns; /* since the start of the task */
    unsigned int random;
    bool stopped; /* the driver is gone */
} helper;

static int64_t elapsed(const helper *h) {
    return probe_clock_mono_ns() - h->start_ns;
}

static void note(helper *h, const char *text, const char *detail) {
    if (h->snapshot.note[0] == '\0') {
        (void)snprintf(h->snapshot.note, sizeof h->snapshot.note,
                       detail[0] == '\0' ? "%s" : "%s: %s", text, detail);
    }
}

static void publish(helper *h) {
    h->snapshot.written_ns = elapsed(h);
    h->snapshot.busy_ns = probe_union_length(&h->busy);
    probe_gpu_publish(h->page, &h->snapshot);
}

static int enumerate(helper *h, nvml_device *handles, char (*names)[NVML_NAME_SIZE],
                     char (*uuids)[NVML_UUID_SIZE]) {
    unsigned int total = 0;
    nvml_return code = h->api.count(&total);
    if (code != NVML_OK) {
        note(h, "the driver does not tell its devices", h->api.error_string(code));
        return 0;
    }
    int count = 0;
    for (unsigned int i = 0; i < total && count < PROBE_GPU_MAX; i++) {
        code = h->api.handle_by_index(i, &handles[count]);
        if (code != NVML_OK) {
            if (code !=
                NVML_E_NO_PERMISSION) { /* a device of somebody else's container is not an error */
                note(h, "a device could not be opened", h->api.error_string(code));
            }
            continue;
        }
        if (h->api.name(handles[count], names[count], NVML_NAME_SIZE) != NVML_OK) {
            names[count][0] = '\0';
        }
        if (h->api.uuid(handles[count], uuids[count], NVML_UUID_SIZE) != NVML_OK) {
            uuids[count][0] = '\0';
        }
        count++;
    }
    if (total > PROBE_GPU_MAX) {
        note(h, "more than 16 devices: the others are not measured", "");
    }
    return count;
}

static void open_devices(helper *h) {
    nvml_device handles[PROBE_GPU_MAX];
    char names[PROBE_GPU_MAX][NVML_NAME_SIZE], uuids[PROBE_GPU_MAX][NVML_UUID_SIZE];
    probe_scope_device devices[PROBE_GPU_MAX];
    int count = enumerate(h, handles, names, uuids);
    for (int i = 0; i < count; i++) {
        devices[i] = (probe_scope_device){names[i], uuids[i]};
    }
    const char *order = getenv("CUDA_DEVICE_ORDER");
    probe_scope scope =
        probe_scope_select(getenv("CUDA_VISIBLE_DEVICES"),
                           order != NULL && strcmp(order, "PCI_BUS_ID") == 0, devices, count);
    h->snapshot.gpus = scope.gpus;
    h->snapshot.ambiguous = scope.ambiguous;
    h->snapshot.count = scope.count;
    if (scope.reason != NULL) {
        note(h, scope.reason, "");
    } else if (scope.count == 0) {
        note(h,
             count == 0 ? "the driver shows no device here"
                        : "CUDA_VISIBLE_DEVICES hides every device",
             "");
    }
    for (int i = 0; i < scope.count; i++) {
        (void)nvml_reader_open(&h->reader[i], &h->api, handles[scope.chosen[i]], scope.chosen[i],
                               &h->snapshot.device[i]);
    }
}

static bool start(helper *h, const char *library) {
    probe_error error = {0};
    if (nvml_api_load(&h->api, library, &error) != PROBE_OK) {
        note(h, error.what, error.detail);
        return false;
    }
    h->snapshot.mock = h->api.mock;
    nvml_return code = h->api.init();
    if (code != NVML_OK) {
        note(h, "NVML could not be initialised", h->api.error_string(code));
        return false;
    }
    if (h->api.driver_version(h->snapshot.driver, sizeof h->snapshot.driver) != NVML_OK) {
        h->snapshot.driver[0] = '\0';
    }
    h->snapshot.driver[sizeof h->snapshot.driver - 1] = '\0';
    open_devices(h);
    return h->snapshot.count > 0;
}

/* True: go on with this device. */
static bool survives(helper *h, nvml_reader *reader, nvml_class result) {
    if (result == NVML_LIBRARY_GONE) {
        h->stopped = true;
        note(h, "the driver stopped answering during the task", "");
    }
    if (result == NVML_LIBRARY_GONE || result == NVML_DEVICE_GONE) {
        reader->out->lost = true;
        reader->out->lost_ns = elapsed(h);
        note(h, "a device was lost during the task", "");
        return false;
    }
    return true;
}

/* Gauges: memory in use and throttle reasons; at the end also the energy counter. */
static void read_gauges(helper *h, bool last) {
    uint64_t sum = 0;
    for (int i = 0; i < h->snapshot.count && !h->stopped; i++) {
        nvml_reader *reader = &h->reader[i];
        if (!reader->out->lost &&
            survives(h, reader, nvml_reader_memory(reader, &h->api, elapsed(h))) &&
            survives(h, reader, nvml_reader_health(reader, &h->api, last))) {
            sum += reader->out->used.last_bytes;
        }
    }
    if (sum > h->snapshot.peak_used_bytes) {
        h->snapshot.peak_used_bytes = sum;
    }
}

static void read_utilization(helper *h) {
    int64_t known_by_all = INT64_MAX;
    for (int i = 0; i < h->snapshot.count && !h->stopped; i++) {
        nvml_reader *reader = &h->reader[i];
        int64_t known = 0;
        if (!reader->out->lost &&
            survives(h, reader,
                     nvml_reader_utilization(reader, &h->api, elapsed(h), &h->busy, &known))) {
            known_by_all = known < known_by_all ? known : known_by_all;
        }
    }
    if (known_by_all != INT64_MAX) {
        probe_union_settle(&h->busy, known_by_all);
    }
}

static bool polls_rates(const helper *h) {
    for (int i = 0; i < h->snapshot.count; i++) {
        if (h->snapshot.device[i].utilization_source == PROBE_UTILIZATION_RATES) {
            return true;
        }
    }
    return false;
}

/* A poll of the latest rate in step with a periodic load always sees the same phase of it: polls
 * are spread at random over the interval. */
static int64_t jitter(helper *h, int64_t interval_ns) {
    h->random = h->random * 1103515245U + 12345U;
    return interval_ns / 2 + (int64_t)(h->random >> 16 & 0x7fff) * interval_ns / 0x8000;
}

static void tick(helper *h, bool last) {
    int64_t now = elapsed(h);
    if (last || now >= h->next_gauges_ns) {
        read_gauges(h, last);
        h->next_gauges_ns = now + h->interval_ns;
    }
    if (last || now >= h->next_drain_ns) {
        read_utilization(h);
        int64_t pause_ns = now < early_ns ? drain_early_ns : h->drain_ns;
        h->next_drain_ns = now + (polls_rates(h) ? jitter(h, h->interval_ns) : pause_ns);
    }
    h->snapshot.final = last;
    publish(h);
}

typedef enum { WORD_NONE, WORD_FINISH, WORD_PARENT_GONE } parent_word;

/* Waits until the next reading is due (WORD_NONE), or for a word of the parent's. */
static parent_word wait_for_word(const helper *h) {
    bool idle = h->snapshot.count == 0 || h->stopped;
    int64_t due = h->next_gauges_ns < h->next_drain_ns ? h->next_gauges_ns : h->next_drain_ns;
    int64_t left_ms = (due - elapsed(h) + PROBE_NS_PER_MS - 1) / PROBE_NS_PER_MS;
    struct pollfd channel = {.fd = PROBE_HELPER_CHANNEL_FD, .events = POLLIN};
    int ready = poll(&channel, 1, idle ? -1 : left_ms > 0 ? (int)left_ms : 0);
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
        return WORD_NONE;
    }
    char byte;
    return ready > 0 && recv(PROBE_HELPER_CHANNEL_FD, &byte, 1, MSG_DONTWAIT) == 1
               ? WORD_FINISH
               : WORD_PARENT_GONE;
}

static int close_all_from(unsigned int fd) {
#ifdef SYS_close_range
    return (int)syscall(SYS_close_range, fd, ~0U, 0U);
#else
    (void)fd;
    return -1;
#endif
}

/* Nothing of the task's may be kept open or busy by this process. */
static void detach(pid_t parent) {
    if (close_all_from(PROBE_HELPER_PAGE_FD + 1) != 0) {
        for (int fd = PROBE_HELPER_PAGE_FD + 1; fd < 1024; fd++) {
            (void)close(fd);
        }
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { /* the parent died before the line above took effect */
        _exit(0);
    }
}

/* The task's directory shall not be kept busy. */
static void leave_directory(void) {
    if (chdir("/") != 0) {
        return; /* then it stays in use: harmless */
    }
}

static probe_gpu_page *map_page(void) {
    struct stat file;
    if (fstat(PROBE_HELPER_PAGE_FD, &file) != 0 || (size_t)file.st_size != sizeof(probe_gpu_page)) {
        return NULL;
    }
    void *page = mmap(NULL, sizeof(probe_gpu_page), PROT_READ | PROT_WRITE, MAP_SHARED,
                      PROBE_HELPER_PAGE_FD, 0);
    return page == MAP_FAILED || ((probe_gpu_page *)page)->layout != PROBE_GPU_PAGE_LAYOUT ? NULL
                                                                                           : page;
}

/* argv: program, pid of the parent, start of the task (CLOCK_MONOTONIC, ns), interval (ns), library
 * or "" */
int main(int argc, char **argv) {
    static helper h; /* some 60 KiB: not for the stack */
    if (argc != 5 || (h.page = map_page()) == NULL) {
        (void)fputs("gpu-probe-nvml: this is a part of gpu-probe, which starts it; it does nothing "
                    "by itself\n",
                    stderr);
        return 125;
    }
    detach((pid_t)strtol(argv[1], NULL, 10));
    h.start_ns = strtoll(argv[2], NULL, 10);
    h.interval_ns = strtoll(argv[3], NULL, 10);
    h.drain_ns = h.interval_ns < drain_min_ns ? drain_min_ns : h.interval_ns;
    h.drain_ns = h.drain_ns > drain_max_ns ? drain_max_ns : h.drain_ns;
    h.random = (unsigned int)getpid();
    bool measures = start(&h, argv[4][0] == '\0' ? NULL : argv[4]);
    leave_directory(); /* not before: the library's path, and a mock's scenario, may be relative */
    if (measures) {
        tick(&h, false);
    } else {
        publish(&h); /* the reason */
    }
    parent_word word;
    while ((word = wait_for_word(&h)) == WORD_NONE) {
        tick(&h, false);
    }
    if (word == WORD_PARENT_GONE) {
        _exit(0);
    }
    if (h.snapshot.count > 0 && !h.stopped) {
        tick(&h, true);
    } else {
        h.snapshot.final = true;
        publish(&h);
    }
    char done = 1;
    (void)send(PROBE_HELPER_CHANNEL_FD, &done, 1,
               MSG_NOSIGNAL); /* nobody may be listening any more */
    _exit(0);                 /* no driver's destructors: they have hung programs */
}
