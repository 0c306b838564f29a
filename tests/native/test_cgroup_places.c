/* Where tasks run: engines, schedulers and bare hosts. Limits come from the smallest visible
 * ancestor, quota and throttling from the ancestor that binds. */
#include "cgroup_fixture.h"
#include "check.h"

typedef struct {
    const char *name;
    int version;
    const char *memory; /* directory of the group */
    const char *cpu; /* whose quota binds; where there is none: the nearest that could have one */
    uint64_t limit, quota, nr_throttled, throttled_usec;
    bool shared;
} place;

#define USER "/user.slice/user-1000.slice"
#define PODS "/kubepods.slice/kubepods-burstable.slice"
#define POD PODS "/kubepods-burstable-pod1c0ffee0_0000.slice"
#define JOB_V1 "/memory/slurm/uid_1000/job_77"
#define JOB_V2 "/system.slice/slurmstepd.scope/job_77"
#define KUBE_V1 "/kubepods/burstable/pod1c0ffee0-0000"

static const place places[] = {
    {"place_docker_v1", 1, "/memory", "/cpu,cpuacct", 2147483648, 150000, 4, 2500, false},
    {"place_docker_v2", 2, "/system.slice/docker-5f3a.scope", "/system.slice/docker-5f3a.scope",
     2147483648, 150000, 4, 2500, false},
    {"place_podman_rootless_v2", 2, USER "/user@1000.service/user.slice/libpod-3f.scope/container",
     NULL, 1073741824, 0, 0, 0, false},
    {"place_kubernetes_v1", 1, "/memory" KUBE_V1 "/9ab1", "/cpu,cpuacct" KUBE_V1, 8589934592,
     200000, 30, 7000, false},
    {"place_kubernetes_v2", 2, POD "/cri-containerd-9ab1.scope", POD, 4294967296, 200000, 30, 7000,
     false},
    {"place_slurm_v1", 1, JOB_V1 "/step_0/task_0", "/cpu,cpuacct", 17179869184, 0, 0, 0, false},
    {"place_slurm_v2", 2, JOB_V2 "/step_0/user/task_0", JOB_V2 "/step_0/user/task_0", 17179869184,
     0, 0, 0, false},
    {"place_ecs_v1", 1, "/memory", "/cpu,cpuacct", 3221225472, 0, 0, 0, false},
    {"place_systemd_user_scope_v2", 2, USER "/user@1000.service/app.slice/run-r7.scope", USER,
     1073741824, 600000, 5, 500, false},
    {"place_session_v2", 2, USER "/session-3.scope", USER "/session-3.scope", 0, 0, 0, 0, true},
};

static void check_place(const place *p) {
    fixture f;
    char path[512];
    (void)fprintf(stderr, "%s\n", p->name);
    CHECK_INT(open_case(&f, p->name), PROBE_OK);
    CHECK_INT(f.now.version, p->version);
    CHECK_INT(f.shared, p->shared);
    (void)snprintf(path, sizeof path, GROUP "%s", p->memory);
    check_directory(&f, f.reader.paths.memory, path);
    CHECK(f.reader.paths.exact_memory || f.reader.paths.exact_unified);
    CHECK_VALUE(&f, MEMORY_LIMIT, p->limit);
    CHECK(valid(&f, PROBE_CG_MEMORY_CURRENT) && valid(&f, PROBE_CG_MEMORY_PEAK_RSS));
    if (p->cpu == NULL) { /* the controller was not handed down */
        CHECK_STR(f.reader.paths.cpu, "");
        CHECK_UNKNOWN(&f, CPU_QUOTA);
        CHECK_UNKNOWN(&f, CPU_NR_THROTTLED);
        return;
    }
    (void)snprintf(path, sizeof path, GROUP "%s", p->cpu);
    check_directory(&f, f.reader.paths.cpu, path);
    CHECK_VALUE(&f, CPU_QUOTA, p->quota);
    CHECK_VALUE(&f, CPU_PERIOD, p->quota == 0 ? 0 : 100000);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 0);
    CHECK_INT(f.reader.baseline[PROBE_CG_CPU_NR_THROTTLED], p->nr_throttled);
    CHECK_INT(f.reader.baseline[PROBE_CG_CPU_THROTTLED_USEC], p->throttled_usec);
}

/* CPU time is the group's own, also where the quota is an ancestor's. */
static void cpu_time_is_the_groups(void) {
    static const char *const with_own[] = {"place_docker_v1", "place_docker_v2", "place_ecs_v1",
                                           "place_kubernetes_v1", "place_kubernetes_v2"};
    fixture f;
    for (size_t i = 0; i < sizeof with_own / sizeof with_own[0]; i++) {
        CHECK_INT(open_case(&f, with_own[i]), PROBE_OK);
        CHECK_INT(f.reader.baseline[PROBE_CG_CPU_USAGE_USEC], 60000000);
        CHECK_INT(f.reader.baseline[PROBE_CG_CPU_USER_USEC], 50000000);
    }
    CHECK_INT(open_case(&f, "place_slurm_v1"), PROBE_OK); /* only the host's root counts it */
    CHECK_UNKNOWN(&f, CPU_USAGE_USEC);
}

int main(void) {
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        check_place(&places[i]);
    }
    cpu_time_is_the_groups();
    return check_failures();
}
