/* Closing what is not needed, and having enough. */
#ifndef PROBE_DESCRIPTORS_H
#define PROBE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* Closes every descriptor from 3 on but those in kept (any order, negative ones are none), and
 * points 0, 1 and 2 at /dev/null. */
void probe_descriptors_keep(const int *kept, size_t count);

/* Raises the limit of descriptors to what a measurement can make use of, or as far as it goes. */
void probe_descriptors_raise(void);

/* How many files of processes can be kept open then without running out. */
int probe_descriptors_room(void);

/* A descriptor that the caller closed must not become one of our files: 0, 1 and 2 are taken, and
 * closed again for the command. */
void probe_descriptors_take_standard(void);

/* With fewer there can be no trace. */
enum { PROBE_DESCRIPTORS_FEWEST = 16 };

/* Raises a limit that is too small for what comes before the command. before: as it was; if it was
 * raised, the command must get it back. False: fewer than PROBE_DESCRIPTORS_FEWEST, and they cannot
 * be raised. */
bool probe_descriptors_begin(struct rlimit *before, bool *raised);

#endif
