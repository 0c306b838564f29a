/* The live descendants of a process. */
#ifndef PROBE_PROC_TREE_H
#define PROBE_PROC_TREE_H

#include "process_set.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROBE_TREE_MAX = 4096 };

typedef struct {
    pid_t pid[PROBE_TREE_MAX];
    size_t count;
    bool truncated; /* more processes than fit */
} probe_tree;

/* Sums over the tree at one instant, KiB. */
typedef struct {
    size_t processes; /* whose memory could be read */
    uint64_t vm_size_kib, vm_rss_kib;
    uint64_t sum_vm_hwm_kib;                          /* an upper bound: marks of different times */
    uint64_t largest_vm_peak_kib, largest_vm_hwm_kib; /* of one process */
} probe_tree_memory;

/* Lists the descendants of root without the processes excluded and their descendants, parents
 * before children. Walks the children files of every thread, whose descriptors the set keeps; where
 * the kernel has none (CONFIG_PROC_CHILDREN), one scan of all processes instead. A process that
 * ends or moves during the walk may be missed: sums of one instant are samples. */
void probe_tree_walk(probe_tree *tree, probe_process_set *set, pid_t root, const pid_t *excluded,
                     size_t excluded_count);

/* Adds up what the processes hold now; thorough: with all high-water marks read anew. */
void probe_tree_read_memory(const probe_tree *tree, probe_process_set *set, bool thorough,
                            probe_tree_memory *memory);

/* Adds one process's figures to the sums. */
void probe_tree_add_memory(probe_tree_memory *memory, const probe_proc_memory *one);

#endif
