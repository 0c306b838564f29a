#include "bounded.h"

#include "clock.h"
#include "descriptors.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_MAX = 7 };

/* How long a child that has answered may take to be gone. */
static const int exit_wait_ms = 100;

/* Room for one descriptor, aligned as the macros want it. */
typedef union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
} control;

/* One byte, and with it a descriptor. */
static void answer(int channel, int fd) {
    char byte = 0;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    control c = {0};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &c;
        message.msg_controllen = sizeof c;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    (void)sendmsg(channel, &message, MSG_NOSIGNAL); /* without a reader there is nothing to tell */
}

/* 0, or why there is no answer. */
static int receive(int channel, int *fd) {
    char byte;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    control c = {0};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c};
    ssize_t n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    if (n != 1) {
        return n < 0 ? errno : ECHILD;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    }
    return 0;
}

static int await(int channel, int wait_ms) {
    int64_t deadline_ns = probe_clock_mono_ns() + wait_ms * PROBE_NS_PER_MS;
    for (;;) {
        int64_t left_ns = deadline_ns - probe_clock_mono_ns();
        int left_ms = left_ns > 0 ? (int)((left_ns + PROBE_NS_PER_MS - 1) / PROBE_NS_PER_MS) : 0;
        struct pollfd ready = {.fd = channel, .events = POLLIN};
        int count = poll(&ready, 1, left_ms);
        if (count == 1) {
            return 0;
        }
        if (count == 0) {
            return ETIMEDOUT;
        }
        if (errno != EINTR) {
            return errno;
        }
    }
}

static _Noreturn void do_in_child(probe_bounded_work work, void *argument, const int *kept,
                                  size_t count, int channel) {
    int all[KEPT_MAX + 1] = {channel};
    size_t all_count = 1;
    for (size_t i = 0; i < count && i < KEPT_MAX; i++) {
        all[all_count++] = kept[i];
    }
    probe_descriptors_keep(all, all_count);
    answer(channel, work(argument));
    _exit(0);
}

int probe_bounded_run(probe_bounded_work work, void *argument, const int *kept, size_t count,
                      int wait_ms, int *fd, pid_t *left) {
    int ends[2];
    *fd = -1;
    *left = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        do_in_child(work, argument, kept, count, ends[1]);
    }
    int code = pid < 0 ? errno : 0;
    (void)close(ends[1]);
    code = code != 0 ? code : await(ends[0], wait_ms);
    code = code != 0 ? code : receive(ends[0], fd);
    /* Its end of the channel is the last of its descriptors to be closed when it exits, and to
     * close the others may hang, too. */
    bool ended = pid > 0 && code == 0 && await(ends[0], exit_wait_ms) == 0;
    (void)close(ends[0]);
    if (pid > 0 && !ended) {
        (void)kill(pid, SIGKILL);
    }
    if (pid > 0 && waitpid(pid, NULL, (ended ? 0 : WNOHANG) | __WALL) == 0) {
        *left = pid;
    }
    return code;
}
