#include "cgroup_fixture.h"
#include "cgroup_reader.h"
#include "check.h"

#include <sys/stat.h>

static void every_key_has_its_name(void) {
    CHECK_STR(probe_cgroup_key_name(PROBE_CG_MEMORY_CURRENT), "memory_current");
    CHECK_STR(probe_cgroup_key_name(PROBE_CG_IO_WRITE_OPS), "io_write_ops");
    CHECK_STR(probe_cgroup_key_name(PROBE_CG_IO_PSI_FULL), "io_psi_full");
    for (int key = 0; key < PROBE_CG_COUNT; key++) {
        CHECK(probe_cgroup_key_name((probe_cgroup_key)key) != NULL);
    }
}

static void v2_container_has_everything(void) {
    fixture f;
    CHECK_INT(open_case(&f, "v2_container"), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP);
    CHECK_INT(f.now.version, 2);
    CHECK_INT(f.now.valid, (1 << PROBE_CG_COUNT) - 1);
    CHECK_VALUE(&f, MEMORY_CURRENT, 104857600);
    CHECK_VALUE(&f, MEMORY_PEAK, 209715200);
    CHECK_VALUE(&f, MEMORY_RSS, 50331648);
    CHECK_VALUE(&f, MEMORY_PEAK_RSS, 50331648);
    CHECK_VALUE(&f, MEMORY_LIMIT, 4294967296);
    CHECK_VALUE(&f, CPU_QUOTA, 200000);
    CHECK_VALUE(&f, CPU_PERIOD, 100000);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 0);
    CHECK_VALUE(&f, MEMORY_OOM_KILLS, 0);
    CHECK(!f.now.peak_sampled);
    CHECK(!f.shared);
}

static void grow_v2(const fixture *f) {
    write_file(f, GROUP "/cpu.stat",
               "usage_usec 9000900\nuser_usec 7000600\nsystem_usec 2000300\n"
               "nr_periods 125\nnr_throttled 15\nthrottled_usec 345778\n");
    write_file(f, GROUP "/io.stat",
               "259:0 rbytes=4106 wbytes=8212 rios=4 wios=6 dbytes=512 dios=1\n"
               "7:0 \n"
               "253:0 rbytes=1000100 wbytes=2000200 rios=35 wios=46 dbytes=9 dios=9\n");
    write_file(f, GROUP "/memory.events", "low 0\nhigh 0\nmax 40\noom 3\noom_kill 3\n");
    write_file(f, GROUP "/cpu.pressure",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=5011\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=4012\n");
    write_file(f, GROUP "/memory.pressure",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=313\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=214\n");
    write_file(f, GROUP "/io.pressure",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=85\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=50\n");
}

static void v2_counters_are_differences(void) {
    fixture f;
    copy_case(&f, "v2_container");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    grow_v2(&f);
    step(&f);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 900);
    CHECK_VALUE(&f, CPU_USER_USEC, 600);
    CHECK_VALUE(&f, CPU_SYSTEM_USEC, 300);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 3);
    CHECK_VALUE(&f, CPU_THROTTLED_USEC, 100);
    CHECK_VALUE(&f, IO_READ_BYTES, 110);
    CHECK_VALUE(&f, IO_WRITE_BYTES, 220);
    CHECK_VALUE(&f, IO_READ_OPS, 8);
    CHECK_VALUE(&f, IO_WRITE_OPS, 10);
    CHECK_VALUE(&f, MEMORY_OOM_KILLS, 2);
    CHECK_VALUE(&f, CPU_PSI_SOME, 11);
    CHECK_VALUE(&f, CPU_PSI_FULL, 12);
    CHECK_VALUE(&f, MEMORY_PSI_SOME, 13);
    CHECK_VALUE(&f, MEMORY_PSI_FULL, 14);
    CHECK_VALUE(&f, IO_PSI_SOME, 15);
    CHECK_VALUE(&f, IO_PSI_FULL, 0); /* it went back: clamped */
    remove_copy(&f);
}

static void rss_peak_is_kept_and_lost_files_keep_the_last_value(void) {
    fixture f;
    copy_case(&f, "v2_container");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    write_file(&f, GROUP "/memory.stat", "anon 90000000\nfile 1\n");
    write_file(&f, GROUP "/memory.peak", "300000000\n");
    step(&f);
    write_file(&f, GROUP "/memory.stat", "anon 2000\nfile 1\n");
    write_file(&f, GROUP "/memory.current", "5000\n");
    step(&f);
    CHECK_VALUE(&f, MEMORY_CURRENT, 5000);
    CHECK_VALUE(&f, MEMORY_PEAK, 300000000);
    CHECK_VALUE(&f, MEMORY_RSS, 2000);
    CHECK_VALUE(&f, MEMORY_PEAK_RSS, 90000000);
    grow_v2(&f);
    step(&f);
    char command[512];
    (void)snprintf(command, sizeof command, "rm -r '%s/%s'", f.root, GROUP);
    run(command);
    step(&f);
    CHECK_INT(f.now.valid, (1 << PROBE_CG_COUNT) - 1);
    CHECK_VALUE(&f, MEMORY_CURRENT, 5000);
    CHECK_VALUE(&f, MEMORY_PEAK, 300000000);
    CHECK(!f.now.peak_sampled);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 900);
    CHECK_VALUE(&f, CPU_QUOTA, 200000);
    remove_copy(&f);
}

static void without_rss_no_memory_figure_is_valid(void) {
    fixture f;
    copy_case(&f, "v2_container");
    delete_file(&f, GROUP "/memory.stat");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK_UNKNOWN(&f, MEMORY_CURRENT);
    CHECK_UNKNOWN(&f, MEMORY_PEAK);
    CHECK_UNKNOWN(&f, MEMORY_RSS);
    CHECK_UNKNOWN(&f, MEMORY_PEAK_RSS);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 0);
    remove_copy(&f);
}

static void a_counter_without_baseline_is_unknown(void) {
    fixture f;
    copy_case(&f, "v2_container");
    delete_file(&f, GROUP "/io.stat");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    grow_v2(&f);
    step(&f);
    CHECK_UNKNOWN(&f, IO_READ_BYTES);
    CHECK_UNKNOWN(&f, IO_WRITE_OPS);
    remove_copy(&f);
}

static void limits_come_from_the_ancestors(void) {
    static const char job[] = GROUP "/system.slice/slurmstepd.scope/job_7";
    static const char job_stat[] = GROUP "/system.slice/slurmstepd.scope/job_7/cpu.stat";
    fixture f;
    copy_case(&f, "v2_slurm");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    check_directory(&f, f.reader.paths.cpu, job);
    CHECK_VALUE(&f, MEMORY_CURRENT, 3221225472);
    CHECK_VALUE(&f, MEMORY_LIMIT, 34359738368);
    CHECK_VALUE(&f, CPU_QUOTA, 400000);
    CHECK_VALUE(&f, CPU_PERIOD, 100000);
    CHECK_VALUE(&f, IO_READ_BYTES, 0); /* io.stat is empty until the first I/O */
    CHECK(f.shared);
    write_file(&f, job_stat, "usage_usec 1\nnr_throttled 9\nthrottled_usec 513250\n");
    step(&f);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 2);
    CHECK_VALUE(&f, CPU_THROTTLED_USEC, 250);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 0); /* the leaf's, not the job's */
    remove_copy(&f);
}

static void old_kernels_have_a_sampled_peak_and_less(void) {
    static const char current[] = GROUP "/user.slice/user-1000.slice/user@1000.service/user.slice"
                                        "/libpod-3f.scope/container/memory.current";
    fixture f;
    copy_case(&f, "v2_linux_5_10");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK_INT(f.now.version, 2);
    CHECK(f.now.peak_sampled);
    write_file(&f, current, "90000000\n");
    step(&f);
    write_file(&f, current, "80000000\n");
    step(&f);
    CHECK_VALUE(&f, MEMORY_CURRENT, 80000000);
    CHECK_VALUE(&f, MEMORY_PEAK, 90000000);
    CHECK(f.now.peak_sampled);
    CHECK_VALUE(&f, MEMORY_LIMIT, 0);
    CHECK_VALUE(&f, CPU_USER_USEC, 0);
    CHECK_UNKNOWN(&f, IO_READ_BYTES);
    CHECK_UNKNOWN(&f, CPU_QUOTA);
    CHECK_UNKNOWN(&f, CPU_PERIOD);
    CHECK_UNKNOWN(&f, CPU_NR_THROTTLED);
    CHECK_UNKNOWN(&f, CPU_THROTTLED_USEC);
    CHECK_UNKNOWN(&f, CPU_PSI_SOME);
    CHECK_UNKNOWN(&f, IO_PSI_FULL);
    remove_copy(&f);
}

static void the_root_group_is_absent(void) {
    fixture f;
    CHECK_INT(open_case(&f, "v2_root"), PROBE_E_ABSENT);
    CHECK_INT(f.now.version, 0);
    CHECK_INT(f.now.valid, 0);
    CHECK_STR(f.reader.paths.unified, "");
    step(&f);
    CHECK_INT(f.now.valid, 0);
}

static void no_limit_is_a_valid_zero(void) {
    fixture f;
    CHECK_INT(open_case(&f, "v2_unlimited"), PROBE_OK);
    CHECK_VALUE(&f, MEMORY_LIMIT, 0);
    CHECK_VALUE(&f, CPU_QUOTA, 0);
    CHECK_VALUE(&f, CPU_PERIOD, 0);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 0);
}

static void v1_docker_is_read_in_nanoseconds(void) {
    fixture f;
    copy_case(&f, "v1_docker");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP "/memory");
    check_directory(&f, f.reader.paths.cpu, GROUP "/cpu,cpuacct");
    check_directory(&f, f.reader.paths.cpuacct, GROUP "/cpu,cpuacct");
    CHECK_STR(f.reader.paths.unified, "");
    CHECK_INT(f.now.version, 1);
    CHECK(!f.shared);
    CHECK_VALUE(&f, MEMORY_CURRENT, 314572800);
    CHECK_VALUE(&f, MEMORY_PEAK, 629145600);
    CHECK_VALUE(&f, MEMORY_RSS, 104857600);
    CHECK_VALUE(&f, MEMORY_LIMIT, 2147483648);
    CHECK_VALUE(&f, CPU_QUOTA, 150000);
    CHECK_VALUE(&f, CPU_PERIOD, 100000);
    write_file(&f, GROUP "/cpu,cpuacct/cpuacct.usage", "12346679901\n");
    write_file(&f, GROUP "/cpu,cpuacct/cpuacct.usage_user", "9000002000\n");
    write_file(&f, GROUP "/cpu,cpuacct/cpuacct.usage_sys", "3000003000\n");
    write_file(&f, GROUP "/cpu,cpuacct/cpu.stat", "nr_throttled 5\nthrottled_time 9500000\n");
    write_file(&f, GROUP "/memory/memory.oom_control", "under_oom 0\noom_kill 3\n");
    step(&f);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 1001);
    CHECK_VALUE(&f, CPU_USER_USEC, 2);
    CHECK_VALUE(&f, CPU_SYSTEM_USEC, 3);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 1);
    CHECK_VALUE(&f, CPU_THROTTLED_USEC, 7000);
    CHECK_VALUE(&f, MEMORY_OOM_KILLS, 1);
    CHECK_UNKNOWN(&f, IO_READ_BYTES);
    CHECK_UNKNOWN(&f, CPU_PSI_SOME);
    remove_copy(&f);
}

static void hybrid_controllers_have_their_own_paths(void) {
    static const char session[] = GROUP "/unified/user.slice/session-3.scope";
    fixture f;
    CHECK_INT(open_case(&f, "v1_hybrid"), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP "/memory/batch/uid_1000/job_7");
    check_directory(&f, f.reader.paths.cpuacct, GROUP "/cpuacct/acct/a");
    check_directory(&f, f.reader.paths.cpu, GROUP "/cpu/pool"); /* the quota sits there */
    check_directory(&f, f.reader.paths.unified, session);
    CHECK_INT(f.now.version, 1);
    CHECK(f.shared); /* pid 0: someone outside our PID namespace */
    CHECK_VALUE(&f, MEMORY_CURRENT, 41943040);
    CHECK_VALUE(&f, MEMORY_LIMIT, 0);
    CHECK_VALUE(&f, CPU_QUOTA, 50000);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 0);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 0);
    CHECK_UNKNOWN(&f, CPU_USER_USEC);
    CHECK_UNKNOWN(&f, MEMORY_OOM_KILLS);
    CHECK_VALUE(&f, CPU_PSI_SOME, 0);
    CHECK_VALUE(&f, IO_PSI_FULL, 0);
    CHECK_UNKNOWN(&f, IO_WRITE_OPS);
    CHECK_INT(f.reader.baseline[PROBE_CG_CPU_PSI_SOME], 50000);
    CHECK_INT(f.reader.baseline[PROBE_CG_CPU_USAGE_USEC], 5000000);
}

static void the_roots_count_strangers(void) {
    fixture f;
    copy_case(&f, "v1_roots");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK_INT(f.now.version, 1);
    CHECK_VALUE(&f, MEMORY_CURRENT, 5480448);
    CHECK_VALUE(&f, MEMORY_LIMIT, 0); /* 64 TiB, beyond RAM */
    CHECK_VALUE(&f, CPU_QUOTA, 0);
    CHECK_VALUE(&f, CPU_NR_THROTTLED, 0);
    CHECK_UNKNOWN(&f, CPU_USAGE_USEC);
    CHECK_UNKNOWN(&f, CPU_USER_USEC);
    CHECK_UNKNOWN(&f, CPU_PSI_SOME);
    write_file(&f, "proc/self/cgroup", "4:memory:/\n2:cpuacct:/\n1:cpu:/\n0::/\n");
    CHECK_INT(open_at_root(&f), PROBE_E_ABSENT);
    remove_copy(&f);
}

static void this_host_is_read_or_absent(void) {
    fixture f;
    probe_status status = probe_cgroup_open(&f.reader, "/proc", "", "self", NULL);
    step(&f);
    CHECK(status == PROBE_OK || status == PROBE_E_ABSENT);
    CHECK_INT(f.now.version == 0, status == PROBE_E_ABSENT);
    if (valid(&f, PROBE_CG_MEMORY_CURRENT)) {
        CHECK(f.now.value[PROBE_CG_MEMORY_CURRENT] > 0);
        CHECK(f.now.value[PROBE_CG_MEMORY_PEAK] > 0);
    }
}

static void the_unified_tree_replaces_a_root_cpuacct(void) {
    static const char session_stat[] = GROUP "/unified/user.slice/session-3.scope/cpu.stat";
    fixture f;
    copy_case(&f, "v1_hybrid");
    write_file(&f, "proc/self/cgroup",
               "9:memory:/batch/uid_1000/job_7\n8:cpuacct:/\n0::/user.slice/session-3.scope\n");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    write_file(&f, session_stat, "usage_usec 31\nuser_usec 21\nsystem_usec 11\n");
    step(&f);
    CHECK_VALUE(&f, CPU_USAGE_USEC, 30);
    CHECK_VALUE(&f, CPU_SYSTEM_USEC, 10);
    CHECK_UNKNOWN(&f, CPU_QUOTA); /* neither hierarchy has the cpu controller for it */
    remove_copy(&f);
}

/* Where PSI is off, Linux 5.10 still has the files, and reading them fails. */
static void psi_that_cannot_be_read_is_unknown(void) {
    fixture f;
    char path[1024];
    copy_case(&f, "v2_container");
    delete_file(&f, GROUP "/cpu.pressure");
    path_in(&f, GROUP "/cpu.pressure", path, sizeof path);
    CHECK_INT(mkdir(path, 0700), 0);
    write_file(&f, GROUP "/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK_UNKNOWN(&f, CPU_PSI_SOME);
    CHECK_VALUE(&f, IO_PSI_SOME, 0);
    CHECK_UNKNOWN(&f, IO_PSI_FULL);
    remove_copy(&f);
}

int main(void) {
    every_key_has_its_name();
    v2_container_has_everything();
    v2_counters_are_differences();
    rss_peak_is_kept_and_lost_files_keep_the_last_value();
    without_rss_no_memory_figure_is_valid();
    a_counter_without_baseline_is_unknown();
    limits_come_from_the_ancestors();
    old_kernels_have_a_sampled_peak_and_less();
    the_root_group_is_absent();
    no_limit_is_a_valid_zero();
    v1_docker_is_read_in_nanoseconds();
    hybrid_controllers_have_their_own_paths();
    the_roots_count_strangers();
    the_unified_tree_replaces_a_root_cpuacct();
    psi_that_cannot_be_read_is_unknown();
    this_host_is_read_or_absent();
    return check_failures();
}
