#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENOUGH = 64 }; /* before the command starts */

/* Kept open for the files of processes, and left for everything else. */
enum { DESCRIPTORS = 1024, DESCRIPTORS_SPARE = 64 };

static void close_range_quietly(int from, int to) {
#ifdef SYS_close_range
    if (from > to || syscall(SYS_close_range, (unsigned int)from, (unsigned int)to, 0U) == 0) {
        return;
    }
#endif
    for (int fd = from; fd <= to && fd < 1024; fd++) {
        (void)close(fd);
    }
}

void probe_descriptors_keep(const int *kept, size_t count) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++) {
        (void)dup2(null, fd);
    }
    for (int from = 3;;) {
        int next = INT_MAX;
        for (size_t i = 0; i < count; i++) {
            next = kept[i] >= from && kept[i] < next ? kept[i] : next;
        }
        if (next == INT_MAX) {
            close_range_quietly(from, INT_MAX);
            return;
        }
        close_range_quietly(from, next - 1);
        from = next + 1;
    }
}

static void raise_to(rlim_t enough) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < enough) {
        limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool probe_descriptors_begin(struct rlimit *before, bool *raised) {
    *raised = false;
    if (getrlimit(RLIMIT_NOFILE, before) != 0 || before->rlim_cur >= ENOUGH) {
        return true;
    }
    const struct rlimit enough = {ENOUGH, before->rlim_max < ENOUGH ? ENOUGH : before->rlim_max};
    *raised = true;
    if (setrlimit(RLIMIT_NOFILE, &enough) == 0) { /* a hard limit, only with the privilege */
        return true;
    }
    raise_to(before->rlim_max);
    return before->rlim_max >= PROBE_DESCRIPTORS_FEWEST;
}

void probe_descriptors_raise(void) {
    raise_to(DESCRIPTORS + DESCRIPTORS_SPARE);
}

int probe_descriptors_room(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max <= DESCRIPTORS_SPARE) {
        return 0;
    }
    rlim_t room = limit.rlim_max - DESCRIPTORS_SPARE;
    return room < DESCRIPTORS ? (int)room : DESCRIPTORS;
}

void probe_descriptors_take_standard(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= 2);
    if (fd > 2) {
        (void)close(fd);
    }
}
