/* The numbers that a directory of /proc has among its names: processes, threads. */
#ifndef PROBE_NUMBERS_H
#define PROBE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    int fd;
    size_t next, used; /* bytes of buf */
    union {
        uint64_t alignment;
        char bytes[4096];
    } buf;
} probe_numbers;

/* Begins a listing of the directory fd, which stays the caller's. Allocates nothing. */
void probe_numbers_begin(probe_numbers *numbers, int fd);

/* The next name that is a positive number. False after the last one. */
bool probe_numbers_next(probe_numbers *numbers, pid_t *number);

#endif
