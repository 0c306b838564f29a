/* gpu-probe --check: what can be measured in this place and what not, and why. */
#ifndef PROBE_CHECK_RUN_H
#define PROBE_CHECK_RUN_H

#include "cgroup_mode.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_CHECK_ITEMS = 256, PROBE_CHECK_TEXT_SIZE = 224 * 1024, PROBE_CHECK_DETAIL = 224 };

typedef struct {
    const char *proc_root, *fs_root, *dev_root;                    /* "/proc", "", "/dev" */
    const char *workdir, *trace_file, *helper_path, *nvml_library; /* as for a measurement */
    const char *copy_to;                                           /* may be NULL */
    bool timeline;
    const char *gpus; /* as in probe_gpu_config */
    int64_t interval_ns;
    probe_cgroup_mode cgroup_mode;
} probe_check_config;

typedef struct {
    const char *block, *key;         /* of the trace, or what they rest upon */
    int device;                      /* NVML's index; -1: not of a device */
    const char *source;              /* where the figure comes from; NULL: it cannot be measured */
    char detail[PROBE_CHECK_DETAIL]; /* with a source: what was found; without: the reason */
    const char *next_step;           /* NULL: there is nothing to be done */
} probe_check_item;

typedef struct {
    int count;
    probe_check_item item[PROBE_CHECK_ITEMS];
} probe_check_list;

/* key can be measured, from source. Strings are kept, but detail (may be NULL) is copied. */
void probe_check_pass(probe_check_list *list, const char *block, const char *key,
                      const char *source, const char *detail);

/* key cannot be measured. next_step: what the user can do about it; may be NULL. */
void probe_check_miss(probe_check_list *list, const char *block, const char *key,
                      const char *reason, const char *next_step);

/* Looks at everything and writes the result, NUL-terminated: a line for each item, or JSON. Takes
 * as long as the driver needs for its first reading, 5 s at most. */
void probe_check_run(const probe_check_config *config, bool json, char *out, size_t size);

#endif
