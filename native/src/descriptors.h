/* Closing what is not needed. */
#ifndef PROBE_DESCRIPTORS_H
#define PROBE_DESCRIPTORS_H

#include <stddef.h>

/* Closes every descriptor from 3 on but those in kept (any order, negative ones are none), and
 * points 0, 1 and 2 at /dev/null. */
void probe_descriptors_keep(const int *kept, size_t count);

#endif
