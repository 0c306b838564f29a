/* Reading kernel files of any length line by line, through one bounded buffer. */
#ifndef PROBE_LINES_H
#define PROBE_LINES_H

#include "probe_status.h"
#include <stdbool.h>
#include <stddef.h>

/* Room for a path of PATH_MAX and what surrounds it. Longer lines exist in mountinfo (overlay with
 * hundreds of lower directories) and are of no interest to us. */
#define PROBE_LINE_MAX 8192

typedef struct {
    int fd;
    bool failed;   /* the end was not reached: a read failed */
    bool skipping; /* within a line that did not fit */
    size_t next;   /* where the unread part of buf begins */
    size_t used;
    char buf[PROBE_LINE_MAX];
} probe_lines;

/* PROBE_E_SYSCALL with errno set when path cannot be opened; nothing is to be closed then. */
probe_status probe_lines_open(probe_lines *lines, const char *path);

/* The next line, without its newline and writable, until the next call; NULL after the last one.
 * Lines that do not fit are left out. */
char *probe_lines_next(probe_lines *lines);

void probe_lines_close(probe_lines *lines);

#endif
