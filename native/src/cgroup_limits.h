/* Limits of a control group, and the ancestors that they come from. */
#ifndef PROBE_CGROUP_LIMITS_H
#define PROBE_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the file name in directory into buf, as text. A file that does not fit is cut: the keys we
 * look for come early. False when it cannot be read (missing, or EOPNOTSUPP where PSI is off). */
bool probe_cgroup_text(const char *directory, const char *name, char *buf, size_t size);

/* The smallest memory.max of directory and its ancestors up to mount, in bytes; 0 when none is set.
 * False when there is no memory.max at all. */
bool probe_cgroup_memory_max(const char *directory, const char *mount, uint64_t *limit);

/* The CPU quota and period set on directory itself, in microseconds, from cpu.max (v2) or
 * cpu.cfs_quota_us (v1); 0 and 0 when none is set. False when there are no such files. */
bool probe_cgroup_cpu_max(const char *directory, uint64_t *quota, uint64_t *period);

/* Replaces directory by the one of itself and its ancestors up to mount that has the smallest quota
 * in relation to its period: only there does the kernel count the throttling. Without any quota it
 * becomes the nearest one that could have one, and empty when there is none. */
void probe_cgroup_tightest_cpu(char *directory, const char *mount);

#endif
