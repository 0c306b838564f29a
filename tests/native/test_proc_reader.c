/* Files of /proc as they were seen in the wild, written out by the test. */
#include "check.h"
#include "proc_fixture.h"
#include "proc_reader.h"
#include "proc_tree.h"

#include <sys/wait.h>
#include <unistd.h>

static void a_name_may_hold_brackets_and_blanks(void) {
    probe_proc_stat stat;
    put("7/stat", "7 (a) R (b) c) S 3 7 7 0 -1 4194304 1 2 3 4 10 20 300 4000 20 0 1 0 998877 "
                  "12345678 910 1 2 3\n");
    CHECK_INT(probe_proc_read_stat(root, 7, &stat), PROBE_OK);
    CHECK_INT(stat.ppid, 3);
    CHECK_INT(stat.state, 'S');
    CHECK_INT(stat.cpu_ticks, 4330);
    CHECK_INT(stat.start_ticks, 998877);
    CHECK(!stat.exiting);
    put("7/stat", "7 (a) Z 3 7 7 0 -1 4228108 1 2 3 4 10 20 300 4000 20 0 1 0 998877 0 0 0\n");
    CHECK_INT(probe_proc_read_stat(root, 7, &stat), PROBE_OK);
    CHECK(stat.exiting);
    put("8/stat", "8 (cut) S 3 7");
    CHECK_INT(probe_proc_read_stat(root, 8, &stat), PROBE_E_FORMAT);
    put("9/stat", "nothing like it");
    CHECK_INT(probe_proc_read_stat(root, 9, &stat), PROBE_E_FORMAT);
    CHECK_INT(probe_proc_read_stat(root, 10, &stat), PROBE_E_SYSCALL);
}

static void a_zombie_has_no_memory(void) {
    probe_proc_memory memory;
    put("7/status", "Name:\tx\nState:\tS (sleeping)\nVmPeak:\t  2000 kB\nVmSize:\t  1900 "
                    "kB\nVmHWM:\t   80 kB\nVmRSS:\t   "
                    "70 kB\nThreads:\t1\n");
    CHECK_INT(probe_proc_read_memory(root, 7, &memory), PROBE_OK);
    CHECK_INT(memory.vm_peak_kib, 2000);
    CHECK_INT(memory.vm_size_kib, 1900);
    CHECK_INT(memory.vm_hwm_kib, 80);
    CHECK_INT(memory.vm_rss_kib, 70);
    put("8/status", "Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n");
    CHECK_INT(probe_proc_read_memory(root, 8, &memory), PROBE_E_ABSENT);
}

static void io_counters_are_64_bits(void) {
    probe_proc_io io;
    const char *text =
        "rchar: 3673366590\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
        "cancelled_write_bytes: 7\n";
    put("7/io", text);
    CHECK_INT(probe_proc_read_io(root, "7/io", &io), PROBE_OK);
    CHECK_INT(io.rchar, 3673366590LL);
    CHECK_INT(io.write_bytes, 6);
    put("8/io", "rchar: 1\n");
    CHECK_INT(probe_proc_read_io(root, "8/io", &io), PROBE_E_FORMAT);
}

static void switches_are_summed_over_threads(void) {
    uint64_t voluntary = 0, involuntary = 0;
    put("7/task/7/status", "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n");
    put("7/task/71/status", "voluntary_ctxt_switches:\t800\nnonvoluntary_ctxt_switches:\t1\n");
    CHECK_INT(probe_proc_read_switches(root, 7, &voluntary, &involuntary), PROBE_OK);
    CHECK_INT(voluntary, 805);
    CHECK_INT(involuntary, 3);
}

static void the_host_may_be_silent(void) {
    probe_host host;
    put("cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.50GHz\nflags\t: x\n");
    put("meminfo", "MemTotal:       24581234 kB\nMemFree: 1 kB\n");
    put("sys/kernel/random/boot_id", "26d956b9-285e-49dc-9fa8-9fc84cc14ccf\n");
    probe_host_read(root, &host);
    CHECK_STR(host.cpu_name, "Some CPU @ 2.50GHz");
    CHECK_INT(host.mem_total_kib, 24581234);
    CHECK_STR(host.boot_id, "26d956b9-285e-49dc-9fa8-9fc84cc14ccf");
    put("cpuinfo",
        "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"); /* as on arm64 */
    probe_host_read(root, &host);
    CHECK_STR(host.cpu_name, "");
    probe_host_read("/nonexistent", &host);
    CHECK_INT(host.mem_total_kib, 0);
    CHECK_INT(host.pid_ns, 0);
}

static void link_self(const char *number) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/self", root);
    (void)unlink(path);
    CHECK_INT(symlink(number, path), 0);
}

static void numbers_may_be_another_namespaces(void) {
    char own[24], other[24];
    (void)snprintf(own, sizeof own, "%d", (int)getpid());
    (void)snprintf(other, sizeof other, "%d", (int)getppid());
    CHECK_INT(probe_proc_view_of("/proc"), PROBE_PROC_OURS);
    CHECK_INT(probe_proc_view_of("/nonexistent"), PROBE_PROC_ABSENT);
    CHECK_INT(probe_proc_view_of(root), PROBE_PROC_ABSENT);
    put("uptime", "1.00 2.00\n");
    CHECK_INT(probe_proc_view_of(root), PROBE_PROC_OTHERS); /* in which we have no number */
    link_self(other);
    CHECK_INT(probe_proc_view_of(root), PROBE_PROC_OTHERS);
    CHECK(strcmp(probe_proc_by_number(root), root) != 0);
    link_self(own);
    CHECK_INT(probe_proc_view_of(root), PROBE_PROC_OURS);
    CHECK_STR(probe_proc_by_number(root), root);
}

/* The parent is there, whatever the fixture says. */
static void a_process_that_is_hidden_has_not_ended(void) {
    char name[64], text[160], own[24];
    pid_t parent = getppid();
    (void)snprintf(own, sizeof own, "%d", (int)getpid());
    (void)snprintf(name, sizeof name, "%d/stat", (int)parent);
    CHECK(!probe_proc_ended(root, parent, 5));
    const char *format = "%d (x) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n";
    (void)snprintf(text, sizeof text, format, (int)parent, 'S');
    put(name, text);
    CHECK(!probe_proc_ended(root, parent, 5));
    CHECK(probe_proc_ended(root, parent, 4)); /* the number was used again */
    link_self("1");
    CHECK(!probe_proc_ended(root, parent, 4)); /* that is somebody else's line */
    link_self(own);
    (void)snprintf(text, sizeof text, format, (int)parent, 'Z');
    put(name, text);
    CHECK(probe_proc_ended(root, parent, 5));
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    CHECK_INT(waitpid(child, NULL, 0), child);
    CHECK(probe_proc_ended("/nonexistent", child, 5));
}

static void the_tree_is_walked_over_every_thread(void) {
    probe_tree tree;
    probe_process_set set;
    probe_process_set_open(&set, root, 64);
    put("20/task/20/children", "21 22 ");
    put("20/task/29/children", "23 "); /* forked by another thread */
    put("21/task/21/children", "24 ");
    put("22/task/22/children", "");
    put("23/task/23/children", "25 ");
    put("24/task/24/children", "");
    put("25/task/25/children", "");
    probe_tree_walk(&tree, &set, 20, NULL, 0);
    CHECK_INT(tree.count, 5);
    probe_tree_walk(&tree, &set, 20, &(const pid_t){23}, 1);
    CHECK_INT(tree.count, 3); /* without 23 and what is below it */
    probe_tree_walk(&tree, &set, 404, NULL, 0);
    CHECK_INT(tree.count, 0);
    CHECK_INT(set.descriptors, 0); /* nothing of it is there any more */
    probe_process_set_close(&set);
}

static void without_children_files_all_processes_are_scanned(void) {
    probe_tree tree;
    probe_process_set set;
    probe_process_set_open(&set, root, 64);
    const char *format = "%d (x) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n";
    const int pairs[][2] = {
        {33, 31}, {31, 30}, {34, 33}, {35, 1}, {30, 1}}; /* children may have smaller pids */
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char name[64], text[128];
        (void)snprintf(name, sizeof name, "%d/stat", pairs[i][0]);
        (void)snprintf(text, sizeof text, format, pairs[i][0], pairs[i][1]);
        put(name, text);
        (void)snprintf(name, sizeof name, "%d/task/%d/stat", pairs[i][0], pairs[i][0]);
        put(name, text);
    }
    probe_tree_walk(&tree, &set, 30, NULL, 0);
    CHECK_INT(tree.count, 3);
    probe_tree_walk(&tree, &set, 30, &(const pid_t){33}, 1);
    CHECK_INT(tree.count, 1);
    probe_process_set_close(&set);
    CHECK_INT(set.descriptors, 0);
}

int main(void) {
    make_root();
    a_name_may_hold_brackets_and_blanks();
    a_zombie_has_no_memory();
    io_counters_are_64_bits();
    switches_are_summed_over_threads();
    the_host_may_be_silent();
    numbers_may_be_another_namespaces();
    a_process_that_is_hidden_has_not_ended();
    the_tree_is_walked_over_every_thread();
    without_children_files_all_processes_are_scanned();
    remove_root();
    return check_failures();
}
