#include "trace_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static void copy(char *to, size_t size, const char *from) {
    (void)snprintf(to, size, "%.*s", (int)size - 1, from);
}

/* A launcher that started one process only has no ranks to tell apart. */
static bool read_rank(probe_trace_job *job, const char *rank, const char *size, bool needs_size) {
    const char *value = variable(rank), *ranks = variable(size);
    bool several = ranks[0] == '\0' ? !needs_size : strtol(ranks, NULL, 10) > 1;
    if (value[0] == '\0' || !several) {
        return false;
    }
    copy(job->rank, sizeof job->rank, value);
    return true;
}

void probe_trace_job_read(probe_trace_job *job) {
    *job = (probe_trace_job){0};
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
    const char *array_job = variable("SLURM_ARRAY_JOB_ID");
    const char *element = variable("SLURM_ARRAY_TASK_ID");
    if (array_job[0] != '\0' && element[0] != '\0') {
        copy(job->job, sizeof job->job, array_job);
        copy(job->array, sizeof job->array, element);
    }
    for (size_t i = 0; job->job[0] == '\0' && i < sizeof jobs / sizeof jobs[0]; i++) {
        copy(job->job, sizeof job->job, variable(jobs[i]));
    }
    copy(job->step, sizeof job->step, variable("SLURM_STEP_ID"));
    (void)(read_rank(job, "RANK", "WORLD_SIZE", true) ||
           read_rank(job, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false) ||
           read_rank(job, "PMIX_RANK", "SLURM_NTASKS", false) ||
           read_rank(job, "PMI_RANK", "PMI_SIZE", false) ||
           read_rank(job, "SLURM_PROCID", "SLURM_NTASKS", true));
}

static bool add(char *out, size_t size, size_t *used, const char *part, bool plain) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strlen(part);
    if (length == 0) {
        return true;
    }
    if (*used + length + 2 > size) {
        return false;
    }
    if (*used > 0) {
        out[(*used)++] = '.';
    }
    for (size_t i = 0; i < length; i++) {
        out[(*used)++] = plain || strchr(allowed, part[i]) != NULL ? part[i] : '_';
    }
    out[*used] = '\0';
    return true;
}

bool probe_trace_name(char *out, size_t size, const char *stem, const probe_trace_job *job,
                      const char *host, pid_t pid) {
    char number[24] = "";
    size_t used = 0;
    if (pid != 0) {
        (void)snprintf(number, sizeof number, "%ld", (long)pid);
    }
    return add(out, size, &used, stem, true) && add(out, size, &used, job->job, false) &&
           add(out, size, &used, job->array, false) && add(out, size, &used, job->rank, false) &&
           add(out, size, &used, host, false) && add(out, size, &used, number, false) &&
           add(out, size, &used, "json", false);
}
