#include "numbers.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64 writes: inode and offset of eight bytes each, the entry's length of two, a type
 * of one, and the name. */
enum { LENGTH_AT = 16, NAME_AT = 19 };

void probe_numbers_begin(probe_numbers *numbers, int fd) {
    numbers->fd = fd;
    numbers->next = numbers->used = 0;
    (void)lseek(fd, 0, SEEK_SET);
}

static bool parse(const char *name, pid_t *number) {
    pid_t value = 0;
    for (; *name >= '0' && *name <= '9' && value < 100000000; name++) {
        value = value * 10 + (*name - '0');
    }
    *number = value;
    return *name == '\0' && value > 0;
}

bool probe_numbers_next(probe_numbers *numbers, pid_t *number) {
    for (;;) {
        if (numbers->next >= numbers->used) {
            long n =
                syscall(SYS_getdents64, numbers->fd, numbers->buf.bytes, sizeof numbers->buf.bytes);
            if (n <= 0) {
                return false;
            }
            numbers->used = (size_t)n;
            numbers->next = 0;
        }
        const char *entry = numbers->buf.bytes + numbers->next;
        unsigned short length;
        memcpy(&length, entry + LENGTH_AT, sizeof length);
        numbers->next += length;
        if (parse(entry + NAME_AT, number)) {
            return true;
        }
    }
}
