/* One process, and the host, as /proc tells them. proc_root is "/proc" on a live system and a
 * directory of files in tests. */
#ifndef PROBE_PROC_READER_H
#define PROBE_PROC_READER_H

#include "probe_status.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    pid_t ppid;
    bool exiting;         /* it has begun to end: its descriptors and memory go away */
    char state;           /* 'Z': a zombie, whose memory figures are gone */
    uint64_t start_ticks; /* since boot: with the pid it identifies a process */
    uint64_t cpu_ticks;   /* its own and that of children it waited for, USER_HZ ticks */
} probe_proc_stat;

typedef struct {
    uint64_t vm_peak_kib, vm_size_kib, vm_hwm_kib, vm_rss_kib;
} probe_proc_memory;

/* In the order of the trace. A process's figures include those of all children it has waited for.
 */
typedef struct {
    uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes;
} probe_proc_io;

typedef struct {
    uint64_t mem_total_kib; /* 0: not known */
    char cpu_name[128];     /* empty: not known */
    char hostname[65];
    char boot_id[40];   /* empty: not known */
    uint64_t pid_ns;    /* inode number; 0: not known */
    uint64_t tick_hz;   /* USER_HZ */
    uint64_t pid_start; /* start time of the calling process, ticks; 0: not known */
} probe_host;

/* What the numbers below proc_root mean. */
typedef enum {
    PROBE_PROC_OURS,   /* processes of this PID namespace */
    PROBE_PROC_OTHERS, /* of another one: a number is somebody else here, or nobody */
    PROBE_PROC_ABSENT  /* nothing: it is not mounted */
} probe_proc_view;

probe_proc_view probe_proc_view_of(const char *proc_root);

/* The root below which processes are found by their number: proc_root, or a path below which there
 * is nothing, unless the numbers are ours. Below proc_root, "self" is right in any case. */
const char *probe_proc_by_number(const char *proc_root);

/* Whether the process of this PID namespace that had this number and start time has certainly
 * ended. /proc may hide the processes of other users; a signal tells that one is there. */
bool probe_proc_ended(const char *proc_root, pid_t pid, uint64_t start_ticks);

/* All return PROBE_E_SYSCALL when the process is gone or its file is not readable, PROBE_E_FORMAT
 * when a file is not as documented. */
probe_status probe_proc_read_stat(const char *proc_root, pid_t pid, probe_proc_stat *stat);
/* The same of this process. */
probe_status probe_proc_read_own_stat(const char *proc_root, probe_proc_stat *stat);
probe_status probe_proc_read_memory(const char *proc_root, pid_t pid, probe_proc_memory *memory);

/* The same from the text of its file status. PROBE_E_ABSENT: a zombie or a kernel thread. */
probe_status probe_proc_parse_memory(const char *status, probe_proc_memory *memory);

/* path: below proc_root, such as "12/io". */
probe_status probe_proc_read_io(const char *proc_root, const char *path, probe_proc_io *io);

/* The same through a descriptor that stays open. length: the bytes that the file had, for the
 * caller who corrects for its own reading (it is one call); may be NULL. */
probe_status probe_proc_reread_io(int fd, probe_proc_io *io, size_t *length);

/* Context switches of the threads that a live process has now. The process-wide file tells the main
 * thread's only. */
probe_status probe_proc_read_switches(const char *proc_root, pid_t pid, uint64_t *voluntary,
                                      uint64_t *involuntary);

/* Never fails: what cannot be read stays empty. */
void probe_host_read(const char *proc_root, probe_host *host);

#endif
