/* The only process that talks to NVML. It is started by the wrapper or by the in-process sampler,
 * reads the devices on its own clock, and publishes into a shared page; whatever the driver does to
 * it, the task and its trace go on. It takes its last reading when a byte comes over its channel,
 * and ends at once when the channel closes. */
#include "clock.h"
#include "gpu_page.h"
#include "nvml_clock.h"
#include "nvml_session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum { WORD_NONE, WORD_FINISH, WORD_PARENT_GONE } parent_word;

/* How long poll may wait; -1: for ever. */
static int wait_ms(const nvml_session *session) {
    int64_t due_ns = nvml_session_due_ns(session);
    if (due_ns == INT64_MAX) {
        return -1;
    }
    int64_t left_ns = session->config.start_ns + due_ns - probe_clock_mono_ns();
    int64_t left_ms = (left_ns + PROBE_NS_PER_MS - 1) / PROBE_NS_PER_MS;
    left_ms = left_ms > 0 ? left_ms : 0;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Waits until the next reading is due (WORD_NONE), or for a word of the parent's. */
static parent_word wait_for_word(const nvml_session *session) {
    struct pollfd channel = {.fd = PROBE_HELPER_CHANNEL_FD, .events = POLLIN};
    int ready = poll(&channel, 1, wait_ms(session));
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
 * or "", which GPUs or "" */
int main(int argc, char **argv) {
    static nvml_session session;
    probe_gpu_page *page = argc == 6 ? map_page() : NULL;
    if (page == NULL) {
        (void)fputs("gpu-probe-nvml: this is a part of gpu-probe, which starts it; it does nothing "
                    "by itself\n",
                    stderr);
        return 125;
    }
    detach((pid_t)strtol(argv[1], NULL, 10));
    nvml_session_open(&session, &(nvml_session_config){
                                    .library = argv[4][0] == '\0' ? NULL : argv[4],
                                    .start_ns = strtoll(argv[2], NULL, 10),
                                    .interval_ns = strtoll(argv[3], NULL, 10),
                                    .clock_ns = nvml_read_clock,
                                    .seed = (unsigned int)getpid(),
                                    .page = page,
                                    .gpus = argv[5][0] == '\0' ? NULL : argv[5],
                                    .proc_root = "/proc",
                                    .task = getppid(),
                                });
    leave_directory(); /* not before: the library's path, and a mock's scenario, may be relative */
    if (nvml_session_due_ns(&session) != INT64_MAX) {
        nvml_session_tick(&session);
    }
    parent_word word;
    while ((word = wait_for_word(&session)) == WORD_NONE) {
        nvml_session_tick(&session);
    }
    if (word == WORD_PARENT_GONE) {
        _exit(0);
    }
    nvml_session_finish(&session);
    nvml_session_finish_lists(&session);
    char done = 1;
    (void)send(PROBE_HELPER_CHANNEL_FD, &done, 1,
               MSG_NOSIGNAL); /* nobody may be listening any more */
    _exit(0);                 /* no driver's destructors: they have hung programs */
}
