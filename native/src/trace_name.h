/* Names for traces that share a directory: ranks, array elements, several wrappers at once. */
#ifndef PROBE_TRACE_NAME_H
#define PROBE_TRACE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What a batch system or a launcher says of this process; empty where it says nothing. */
typedef struct {
    char job[64];
    char step[32];  /* of the job; not part of the name */
    char array[32]; /* index of the array's element */
    char rank[32];  /* only where there are several */
} probe_trace_job;

/* From the environment, innermost launcher first: torchrun, Open MPI, PMIx, PMI, Slurm. */
void probe_trace_job_read(probe_trace_job *job);

/* STEM.JOB.ARRAY.RANK.HOST.PID.json without the parts that are empty (pid: 0). Characters other
 * than letters, digits, '_' and '-' become '_'. False: it does not fit. */
bool probe_trace_name(char *out, size_t size, const char *stem, const probe_trace_job *job,
                      const char *host, pid_t pid);

#endif
