#include "check.h"
#include "trace_name.h"

#include <stdlib.h>

static const char *const variables[] = {"SLURM_JOB_ID",
                                        "SLURM_ARRAY_JOB_ID",
                                        "SLURM_ARRAY_TASK_ID",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "PBS_JOBID",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMIX_RANK",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "LSB_JOBID"};

static char name[256];

/* pairs: NAME=VALUE, up to NULL. */
static const char *name_with(const char *const *pairs) {
    probe_trace_job job;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        (void)unsetenv(variables[i]);
    }
    for (; *pairs != NULL; pairs++) {
        char pair[64];
        (void)snprintf(pair, sizeof pair, "%s", *pairs);
        char *value = strchr(pair, '=');
        *value = '\0';
        (void)setenv(pair, value + 1, 1);
    }
    probe_trace_job_read(&job);
    CHECK(probe_trace_name(name, sizeof name, "trace", &job, "n1.example", 0));
    return name;
}

#define NAME_WITH(...) name_with((const char *const[]){__VA_ARGS__, NULL})

static void launchers_are_known(void) {
    CHECK_STR(name_with((const char *const[]){NULL}), "trace.n1_example.json");
    CHECK_STR(NAME_WITH("SLURM_JOB_ID=7", "SLURM_PROCID=3", "SLURM_NTASKS=8"),
              "trace.7.3.n1_example.json");
    CHECK_STR(NAME_WITH("SLURM_JOB_ID=7", "SLURM_PROCID=0", "SLURM_NTASKS=1", "PMI_RANK=0",
                        "PMI_SIZE=1", "PMIX_RANK=0"),
              "trace.7.n1_example.json");
    CHECK_STR(NAME_WITH("SLURM_JOB_ID=9", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=2"),
              "trace.7.2.n1_example.json");
    CHECK_STR(NAME_WITH("SLURM_PROCID=0", "SLURM_NTASKS=2", "OMPI_COMM_WORLD_RANK=5"),
              "trace.5.n1_example.json"); /* mpirun started by srun: the inner one counts */
    CHECK_STR(NAME_WITH("PMI_RANK=4"), "trace.4.n1_example.json");
    CHECK_STR(NAME_WITH("PMIX_RANK=6"), "trace.6.n1_example.json");
    CHECK_STR(NAME_WITH("RANK=1", "WORLD_SIZE=2"), "trace.1.n1_example.json");
    CHECK_STR(NAME_WITH("RANK=1"), "trace.n1_example.json");
    CHECK_STR(NAME_WITH("PBS_JOBID=12.pbs/srv", "PMI_RANK=../x"),
              "trace.12_pbs_srv.___x.n1_example.json");
}

static void a_name_that_does_not_fit_is_none(void) {
    const probe_trace_job job = {.job = "123"};
    char small[24];
    CHECK(probe_trace_name(small, sizeof small, "trace", &job, "h", 42));
    CHECK_STR(small, "trace.123.h.42.json");
    CHECK(!probe_trace_name(small, 19, "trace", &job, "h", 42));
}

int main(void) {
    launchers_are_known();
    a_name_that_does_not_fit_is_none();
    return check_failures();
}
