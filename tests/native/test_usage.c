/* The kernel's own counters, on real processes. */
#include "check.h"
#include "clock.h"
#include "usage.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const probe_tree none = {.count = 0};

static void write_bytes(size_t bytes) {
    static char block[4096];
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    while (bytes > 0) {
        size_t part = bytes < sizeof block ? bytes : sizeof block;
        if (write(fd, block, part) != (ssize_t)part) {
            _exit(9);
        }
        bytes -= part;
    }
    (void)close(fd);
}

static void read_bytes(size_t bytes) {
    static char block[4096];
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (bytes > sizeof block || read(fd, block, bytes) != (ssize_t)bytes) {
        _exit(9);
    }
    (void)close(fd);
}

static void burn_ms(long ms) {
    struct timespec t;
    do {
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static void child(void (*body)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

/* Larger than the children of the tests after it. */
static void write_a_little(void) {
    static volatile char ballast[4 << 20];
    for (size_t i = 0; i < sizeof ballast; i += 4096) {
        ballast[i] = 1;
    }
    write_bytes(10007);
    read_bytes(1009);
}

static void burn_and_write(void) {
    burn_ms(60);
    write_bytes(1000003);
}

static void orphan_a_writer(void) {
    if (fork() == 0) {
        write_bytes(777);
        _exit(0);
    }
}

static void short_children_are_counted_to_the_byte(void) {
    probe_usage_reader reader;
    probe_usage usage;
    probe_usage_open(&reader, "/proc", PROBE_SCOPE_DESCENDANTS, &none);
    for (int i = 0; i < 50; i++) {
        child(write_a_little);
    }
    write_bytes(12345678); /* this process's own: not the task's, and longer numbers in its file */
    probe_usage_read(&reader, &none, &usage);
    CHECK(usage.io_valid);
    probe_usage_close(&reader);
    CHECK_INT(reader.process_io, -1);
    CHECK_INT(usage.io[1], 50 * 10007);
    CHECK_INT(usage.io[3], 50 * 3);    /* 4096 + 4096 + the rest */
    CHECK_INT(usage.io[0], 50 * 1009); /* what this measuring reads is not the task's */
    CHECK_INT(usage.io[2], 50);
}

static void cpu_time_is_that_of_the_children(void) {
    probe_usage_reader reader;
    probe_usage usage;
    probe_usage_open(&reader, "/proc", PROBE_SCOPE_DESCENDANTS, &none);
    child(burn_and_write);
    probe_usage_read(&reader, &none, &usage);
    CHECK(usage.cpu_usec >= 60000 && usage.cpu_usec < 120000);
    CHECK_INT(usage.io[1], 1000003);
    CHECK(usage.maxrss_kib == 0); /* less than an earlier child's: not known to be this one's */
}

static void adopted_orphans_belong_to_the_task(void) {
    probe_usage_reader reader;
    probe_usage usage;
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    probe_usage_open(&reader, "/proc", PROBE_SCOPE_DESCENDANTS, &none);
    child(orphan_a_writer);
    while (waitpid(-1, NULL, __WALL) > 0) {
    }
    probe_usage_read(&reader, &none, &usage);
    CHECK_INT(usage.io[1], 777);
}

static void a_live_child_counts_with_what_it_shows(void) {
    int ready[2], done[2];
    char byte = 0;
    CHECK_INT(pipe(ready), 0);
    CHECK_INT(pipe(done), 0);
    probe_usage_reader reader;
    probe_usage_open(&reader, "/proc", PROBE_SCOPE_DESCENDANTS, &none);
    pid_t pid = fork();
    if (pid == 0) {
        burn_ms(60);
        write_bytes(5000);
        (void)!write(ready[1], &byte, 1);
        (void)!read(done[0], &byte, 1);
        _exit(0);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    probe_tree tree = {.count = 1, .pid = {pid}};
    probe_usage live, final;
    probe_usage_read(&reader, &tree, &live);
    CHECK_INT(live.io[1], 5001);
    CHECK(live.cpu_usec >= 40000 && live.cpu_usec < 120000); /* in ticks, user and system */
    CHECK_INT(live.alive, 1);
    int64_t cpu_usec = probe_usage_read_cpu(&reader, &tree);
    CHECK(cpu_usec >= live.cpu_usec && cpu_usec < 120000);
    CHECK_INT(write(done[1], &byte, 1), 1);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    probe_usage_read(&reader, &none, &final);
    CHECK_INT(final.io[1], 5001);
    CHECK(final.cpu_usec >= 60000 && final.cpu_usec < 120000);
}

static void an_excluded_child_leaves_nothing(void) {
    probe_usage_reader reader;
    probe_usage usage;
    probe_usage_open(&reader, "/proc", PROBE_SCOPE_DESCENDANTS, &none);
    pid_t pid = fork();
    if (pid == 0) {
        burn_ms(30);
        write_bytes(4242);
        _exit(0);
    }
    siginfo_t info;
    CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    char path[32];
    (void)snprintf(path, sizeof path, "%d/io", (int)pid);
    probe_proc_io io;
    CHECK_INT(probe_proc_read_io("/proc", path, &io), PROBE_OK); /* of a zombie */
    struct rusage own;
    CHECK_INT(wait4(pid, NULL, 0, &own), pid);
    probe_usage_exclude(&reader, &own, &io);
    probe_usage_read(&reader, &none, &usage);
    CHECK_INT(usage.io[1], 0);
    CHECK(usage.cpu_usec <= 2); /* the kernel sums in ns and cuts each report to µs */
    CHECK_INT(usage.voluntary, 0);
}

static void *burn_beside(void *unused) {
    int64_t until = probe_clock_thread_ns() + 60 * PROBE_NS_PER_MS;
    while (probe_clock_thread_ns() < until) {
    }
    write_bytes(5003);
    return unused;
}

/* Of the threads, all but the measuring one; without the scope, none. */
static void other_threads_count_when_the_process_is_the_task(void) {
    probe_usage_reader process, descendants;
    probe_usage usage;
    pthread_t thread;
    probe_usage_open(&process, "/proc", PROBE_SCOPE_PROCESS, &none);
    probe_usage_open(&descendants, "/proc", PROBE_SCOPE_DESCENDANTS, &none);
    CHECK_INT(pthread_create(&thread, NULL, burn_beside, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    (void)burn_beside(NULL); /* this thread's own */
    probe_usage_read(&process, &none, &usage);
    CHECK(usage.cpu_usec >= 59000 && usage.cpu_usec < 110000);
    CHECK_INT(usage.io[1], 5003);
    int64_t cpu_usec = probe_usage_read_cpu(&process, &none);
    CHECK(cpu_usec >= 59000 && cpu_usec < 110000);
    probe_usage_read(&descendants, &none, &usage);
    CHECK_INT(usage.cpu_usec, 0);
    CHECK_INT(probe_usage_read_cpu(&descendants, &none), 0);
}

static void the_process_itself_counts_when_it_is_the_task(void) {
    probe_usage_reader reader;
    probe_usage usage;
    probe_usage_open(&reader, "/proc", PROBE_SCOPE_PROCESS, &none);
    child(burn_and_write);
    probe_usage_read(&reader, &none, &usage);
    CHECK(usage.cpu_usec >= 60000); /* this thread is the measuring one: only the child's */
    CHECK_INT(usage.io[1], 1000003);
}

int main(void) {
    short_children_are_counted_to_the_byte();
    cpu_time_is_that_of_the_children();
    adopted_orphans_belong_to_the_task();
    a_live_child_counts_with_what_it_shows();
    an_excluded_child_leaves_nothing();
    the_process_itself_counts_when_it_is_the_task();
    other_threads_count_when_the_process_is_the_task();
    return check_failures();
}
