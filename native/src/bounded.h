/* Work that may hang in a file system, done by a child process that is waited for so long and no
 * longer: a child does not keep its parent. */
#ifndef PROBE_BOUNDED_H
#define PROBE_BOUNDED_H

#include <stddef.h>
#include <sys/types.h>

/* Returns a descriptor to hand over to the parent, or -1. */
typedef int (*probe_bounded_work)(void *argument);

/* Does work(argument) in a child that has no descriptors but kept's. What it changes is its own,
 * except in memory that is mapped shared. 0: done; ETIMEDOUT: not within wait_ms; otherwise why
 * there is no child or no answer of it. *fd: what it handed over, or -1. *left: a child that has
 * been killed but is not reaped; 0: none. */
int probe_bounded_run(probe_bounded_work work, void *argument, const int *kept, size_t count,
                      int wait_ms, int *fd, pid_t *left);

#endif
