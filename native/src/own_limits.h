/* Resource limits: those that are raised for this process alone, and those that leave no room. */
#ifndef PROBE_OWN_LIMITS_H
#define PROBE_OWN_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

typedef struct {
    struct rlimit descriptors, cpu; /* as they were found */
    bool descriptors_raised, cpu_raised;
} probe_limits;

/* Raises the soft limits of open files, where they are few, and of CPU time, which is meant for the
 * command: the seconds that this process uses are its own. False: this process can take no
 * measurements here, for reason. */
bool probe_limits_begin(probe_limits *limits, char *reason, size_t size);

/* Sets back what was raised. Takes no lock and no memory. */
void probe_limits_give_back(const probe_limits *limits);

#endif
