#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

probe_status probe_lines_open(probe_lines *lines, const char *path) {
    lines->failed = false;
    lines->skipping = false;
    lines->next = 0;
    lines->used = 0;
    lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    return lines->fd < 0 ? PROBE_E_SYSCALL : PROBE_OK;
}

/* Moves the unread part to the front and reads more behind it. False at the end. One byte is kept
 * free for the NUL of a last line without newline. */
static bool fill(probe_lines *lines) {
    memmove(lines->buf, lines->buf + lines->next, lines->used - lines->next);
    lines->used -= lines->next;
    lines->next = 0;
    if (lines->used == sizeof lines->buf - 1) {
        lines->skipping = true;
        lines->used = 0;
    }
    for (;;) {
        ssize_t n = read(lines->fd, lines->buf + lines->used, sizeof lines->buf - 1 - lines->used);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        lines->failed = n < 0;
        lines->used += n > 0 ? (size_t)n : 0;
        return n > 0;
    }
}

char *probe_lines_next(probe_lines *lines) {
    for (;;) {
        char *line = lines->buf + lines->next;
        char *end = memchr(line, '\n', lines->used - lines->next);
        if (end == NULL && fill(lines)) {
            continue;
        }
        line = lines->buf + lines->next;
        if (end == NULL && lines->next == lines->used) {
            return NULL;
        }
        if (end == NULL) {
            end = lines->buf + lines->used;
            lines->next = lines->used;
        } else {
            lines->next = (size_t)(end - lines->buf) + 1;
        }
        *end = '\0';
        if (!lines->skipping) {
            return line;
        }
        lines->skipping = false;
    }
}

void probe_lines_close(probe_lines *lines) {
    (void)close(lines->fd); /* read-only: nothing to lose */
    lines->fd = -1;
}
