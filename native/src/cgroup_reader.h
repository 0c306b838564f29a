/* The task's control group: v2, v1 and hybrid, each controller at its own path. */
#ifndef PROBE_CGROUP_READER_H
#define PROBE_CGROUP_READER_H

#include "cgroup_files.h"
#include "cgroup_members.h"
#include "probe_status.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every figure of the trace's cgroup block, in its order. */
typedef enum {
    PROBE_CG_MEMORY_CURRENT,  /* bytes, gauge */
    PROBE_CG_MEMORY_PEAK,     /* bytes, lifetime maximum of the group */
    PROBE_CG_MEMORY_RSS,      /* bytes, gauge */
    PROBE_CG_MEMORY_PEAK_RSS, /* bytes, largest MEMORY_RSS read so far */
    PROBE_CG_CPU_USAGE_USEC,  /* counters from here: differences since open */
    PROBE_CG_CPU_USER_USEC,
    PROBE_CG_CPU_SYSTEM_USEC,
    PROBE_CG_IO_READ_BYTES,
    PROBE_CG_IO_WRITE_BYTES,
    PROBE_CG_IO_READ_OPS,
    PROBE_CG_IO_WRITE_OPS,
    PROBE_CG_MEMORY_LIMIT,     /* bytes, 0 = unlimited; smallest visible ancestor */
    PROBE_CG_CPU_QUOTA,        /* microseconds, 0 = unlimited */
    PROBE_CG_CPU_PERIOD,       /* microseconds, 0 = unlimited */
    PROBE_CG_MEMORY_OOM_KILLS, /* counters again */
    PROBE_CG_CPU_NR_THROTTLED,
    PROBE_CG_CPU_THROTTLED_USEC,
    PROBE_CG_CPU_PSI_SOME, /* microseconds */
    PROBE_CG_CPU_PSI_FULL,
    PROBE_CG_MEMORY_PSI_SOME,
    PROBE_CG_MEMORY_PSI_FULL,
    PROBE_CG_IO_PSI_SOME,
    PROBE_CG_IO_PSI_FULL,
    PROBE_CG_COUNT
} probe_cgroup_key;

/* The name of a key in the trace ("memory_current", ...). A static string. */
const char *probe_cgroup_key_name(probe_cgroup_key key);

typedef struct {
    int version;    /* 1 or 2: where the memory controller lives; 0 = no group found */
    uint32_t valid; /* bit per key */
    uint64_t value[PROBE_CG_COUNT];
    bool peak_sampled; /* MEMORY_PEAK is a sampled maximum (no memory.peak on this kernel) */
} probe_cgroup_reading;

/* Which of the group's directories holds what. Absolute paths below fs_root; empty = that
 * controller is not to be had. */
typedef struct {
    int version;
    char memory[PATH_MAX];  /* the same directory for all controllers on pure v2 */
    char cpu[PATH_MAX];     /* the group or ancestor whose quota is the tightest: it is throttled */
    char cpuacct[PATH_MAX]; /* CPU time: v1 cpuacct, or the same directory as unified */
    char unified[PATH_MAX]; /* cgroup2 directory: io.stat, cpu.stat and *.pressure; on hybrid hosts
                               beside v1 */
    char memory_mount[PATH_MAX]; /* mount points, where the walk over ancestors ends */
    char cpu_mount[PATH_MAX];
    char unified_mount[PATH_MAX];
    bool exact_memory, exact_cpuacct, exact_unified; /* as located, the directory was the group's
                                                        own, not merely the mount point */
} probe_cgroup_paths;

typedef struct {
    probe_cgroup_paths paths;
    probe_cgroup_members members; /* of the memory group, at open */
    probe_cgroup_files files;
    uint64_t memory_total;     /* bytes of RAM: a v1 limit beyond it is none; 0 = not known */
    probe_cgroup_reading last; /* running maxima and the last gauges */
    uint64_t baseline[PROBE_CG_COUNT];
    uint32_t baseline_valid;
} probe_cgroup_reader;

/* Finds the directories of process pid's group as the kernel tells them, before it is known which
 * of them are of use: memory, cpu and cpuacct of v1, and unified. A directory of which exact_* is
 * false is merely the mount point, which shows some other group. */
probe_status probe_cgroup_locate(probe_cgroup_paths *paths, const char *proc_root,
                                 const char *fs_root, const char *pid, probe_error *error);

/* From directories as located to those that are read: the host's root groups are left out, and a
 * controller lives in exactly one hierarchy, so what v1 does not have can only be in v2. */
void probe_cgroup_classify(probe_cgroup_paths *paths);

/* Both in one: the group of process pid ("self" for the caller) through <proc_root>/<pid>/cgroup
 * and mountinfo; fs_root is put before every mount point ("" on a live system; a directory in
 * tests). PROBE_E_ABSENT when no directory with memory figures exists: paths->version is then 0. */
probe_status probe_cgroup_find(probe_cgroup_paths *paths, const char *proc_root,
                               const char *fs_root, const char *pid, probe_error *error);

/* Finds the group, takes the baseline of its counters and takes down who is in it: what must be
 * done before the task starts. Opens nothing to keep. On PROBE_E_ABSENT the reader is still usable:
 * its readings are empty. */
probe_status probe_cgroup_open(probe_cgroup_reader *reader, const char *proc_root,
                               const char *fs_root, const char *pid, probe_error *error);

/* As probe_cgroup_open for a group that is known and nobody else's: it was just made. */
void probe_cgroup_open_own(probe_cgroup_reader *reader, const probe_cgroup_paths *paths);

/* Reads nothing, ever. */
void probe_cgroup_open_none(probe_cgroup_reader *reader);

/* What can wait until the task runs: the limits. memory_total: bytes of RAM, 0 = not known. */
void probe_cgroup_settle(probe_cgroup_reader *reader, uint64_t memory_total);

/* Whether, at open, processes other than pid ("self" for the caller) and its ancestors were in the
 * memory group, or that cannot be ruled out. */
bool probe_cgroup_shared(const probe_cgroup_reader *reader, const char *proc_root, const char *pid);

/* Reads what peaks are sampled from, and the OOM kills, through descriptors that it keeps. Never
 * fails. */
void probe_cgroup_sample(probe_cgroup_reader *reader);

/* Reads everything once more. Gauges that are gone keep their last value. Never fails: what cannot
 * be read is not valid. */
void probe_cgroup_step(probe_cgroup_reader *reader);

/* As step, without the limits: the task has ended, and its memory is gone, so the gauges do not
 * fall below those of the step before. */
void probe_cgroup_step_ended(probe_cgroup_reader *reader);

void probe_cgroup_close(probe_cgroup_reader *reader);

/* The state as of the last step: counters as differences since open. */
void probe_cgroup_get(const probe_cgroup_reader *reader, probe_cgroup_reading *reading);

#endif
