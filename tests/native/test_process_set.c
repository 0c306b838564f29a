/* Kept descriptors: on files written by the test, and on real processes. */
#include "check.h"
#include "proc_fixture.h"
#include "proc_tree.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static probe_process_set set;
static probe_tree tree;

static void hold(const char *pid, const char *statm, const char *status) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s/statm", pid);
    put(name, statm);
    (void)snprintf(name, sizeof name, "%s/status", pid);
    put(name, status);
}

static probe_proc_memory read_one(pid_t pid, bool thorough) {
    probe_proc_memory memory = {0};
    CHECK_INT(probe_process_set_read_memory(&set, pid, thorough, &memory), PROBE_OK);
    return memory;
}

static const char small_status[] =
    "VmPeak:\t 900 kB\nVmSize:\t 800 kB\nVmHWM:\t 500 kB\nVmRSS:\t 400 kB\n";
static const char large_status[] =
    "VmPeak:\t 9000 kB\nVmSize:\t 800 kB\nVmHWM:\t 5000 kB\nVmRSS:\t 400 kB\n";

static void marks_are_read_when_they_may_have_risen(void) {
    probe_process_set_open(&set, root, 64);
    set.page_kib = 4;
    put("1/task/1/children", "2 ");
    put("2/task/2/children", "");
    hold("2", "200 100 0 0 0 0 0\n", small_status);
    probe_tree_walk(&tree, &set, 1, NULL, 0);
    CHECK_INT(tree.count, 1);
    probe_proc_memory first = read_one(2, false);
    CHECK_INT(first.vm_size_kib, 800);
    CHECK_INT(first.vm_rss_kib, 400);
    CHECK_INT(first.vm_peak_kib, 900);
    CHECK_INT(first.vm_hwm_kib, 500);
    hold("2", "200 100 0 0 0 0 0\n", large_status);
    int reread = 0;
    for (int i = 0; i < 5; i++) { /* nothing seems to have risen: every fifth time all the same */
        reread += read_one(2, false).vm_hwm_kib == 5000;
    }
    CHECK(reread > 0 && reread < 5);
    hold("2", "200 1300 0 0 0 0 0\n", small_status); /* more than is known of: looked at, kept */
    CHECK_INT(read_one(2, false).vm_hwm_kib, 5200);
    hold("2", "200 100 0 0 0 0 0\n", small_status); /* another program since: smaller again */
    CHECK_INT(read_one(2, true).vm_hwm_kib, 500);
    hold("2", "0 0 0 0 0 0 0\n", "State:\tZ (zombie)\n");
    probe_proc_memory zombie;
    CHECK_INT(probe_process_set_read_memory(&set, 2, false, &zombie), PROBE_E_ABSENT);
    probe_process_set_close(&set);
    CHECK_INT(set.descriptors, 0);
}

static void ignore(void *context, int fd) {
    (void)context;
    (void)fd;
}

/* More than there is room for, but never two at once. */
static void the_place_of_an_ended_process_is_free_again(void) {
    probe_process_set_open(&set, root, 64);
    for (int pid = 1000; pid < 1000 + 2 * PROBE_KEPT_PROCESSES; pid++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%d/task/%d/children", pid, pid);
        put(name, "");
        probe_process_set_begin(&set);
        probe_process_set_visit(&set, pid, ignore, NULL);
        probe_process_set_end(&set);
        CHECK_INT(set.descriptors, 2); /* its directory and its children; none of those before */
    }
    probe_process_set_close(&set);
    CHECK_INT(set.descriptors, 0);
}

static void threads_come_and_go(void) {
    probe_process_set_open(&set, root, 64);
    put("40/task/40/children", "41 ");
    put("40/task/47/children", "42 ");
    put("40/task/48/children", "43 ");
    for (int pid = 41; pid <= 44; pid++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%d/task/%d/children", pid, pid);
        put(name, "");
    }
    probe_tree_walk(&tree, &set, 40, NULL, 0);
    CHECK_INT(tree.count, 3);
    int before = set.descriptors;
    probe_tree_walk(&tree, &set, 40, NULL, 0);
    CHECK_INT(tree.count, 3);
    CHECK_INT(set.descriptors, before);
    drop_directory("40/task/47");
    put("40/task/49/children", "44 ");
    probe_tree_walk(&tree, &set, 40, NULL, 0);
    CHECK_INT(tree.count, 3); /* 41, 43 and 44 */
    CHECK(tree.pid[0] + tree.pid[1] + tree.pid[2] == 41 + 43 + 44);
    drop_directory("40/task/48");
    drop_directory("40/task/49");
    probe_tree_walk(&tree, &set, 40, NULL, 0);
    CHECK_INT(tree.count, 1);
    CHECK_INT(set.descriptors, 4); /* two of each of 40 and 41 */
    probe_process_set_close(&set);
}

static pid_t start_sleeper(void) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid) {
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

/* What does not fit is read all the same. */
static void a_full_set_loses_nothing(void) {
    static const int limits[] = {0, 5, 11, 64};
    pid_t pids[12];
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        pids[i] = start_sleeper();
    }
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        probe_tree_memory sum;
        probe_process_set_open(&set, "/proc", limits[i]);
        for (int walk = 0; walk < 3; walk++) {
            probe_tree_walk(&tree, &set, getpid(), NULL, 0);
            probe_tree_read_memory(&tree, &set, false, &sum);
            CHECK_INT(tree.count, 12);
            CHECK_INT(sum.processes, 12);
            CHECK(sum.sum_vm_hwm_kib >= sum.vm_rss_kib);
            CHECK(set.descriptors <= limits[i]);
        }
        probe_process_set_close(&set);
        CHECK_INT(set.descriptors, 0);
    }
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        end(pids[i]);
    }
}

static void an_ended_process_is_let_go(void) {
    probe_tree_memory sum;
    probe_process_set_open(&set, "/proc", 64);
    pid_t first = start_sleeper(), second = start_sleeper();
    probe_tree_walk(&tree, &set, getpid(), NULL, 0);
    probe_tree_read_memory(&tree, &set, false, &sum);
    CHECK_INT(sum.processes, 2);
    CHECK_INT(set.descriptors, 2 + 4 + 4);
    end(first);
    probe_proc_memory gone;
    CHECK(probe_process_set_read_memory(&set, first, true, &gone) != PROBE_OK);
    probe_tree_walk(&tree, &set, getpid(), NULL, 0);
    CHECK_INT(tree.count, 1);
    CHECK_INT(set.descriptors, 2 + 4);
    end(second);
    /* Met again under the same pid, as a recycled one would be: the kept files are known to be a
     * dead process's. */
    probe_process_set_begin(&set);
    probe_process_set_visit(&set, second, NULL, NULL);
    probe_process_set_end(&set);
    CHECK_INT(set.descriptors, 0);
}

int main(void) {
    make_root();
    marks_are_read_when_they_may_have_risen();
    the_place_of_an_ended_process_is_free_again();
    threads_come_and_go();
    a_full_set_loses_nothing();
    an_ended_process_is_let_go();
    remove_root();
    return check_failures();
}
