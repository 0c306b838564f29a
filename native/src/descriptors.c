#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

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
