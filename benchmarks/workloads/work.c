#include "work.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Noreturn void work_fail(const char *what) {
    (void)fprintf(stderr, "truth: %s: %s\n", what, strerror(errno));
    _exit(WORK_FAILED);
}

static void add_usage(work_usage *sum, int who) {
    struct rusage r;
    if (getrusage(who, &r) != 0) {
        work_fail("getrusage");
    }
    sum->cpu_usec += ((int64_t)r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 +
                     r.ru_utime.tv_usec + r.ru_stime.tv_usec;
    sum->voluntary += r.ru_nvcsw;
    sum->involuntary += r.ru_nivcsw;
}

work_usage work_used(void) {
    work_usage sum = {0};
    add_usage(&sum, RUSAGE_SELF);
    add_usage(&sum, RUSAGE_CHILDREN);
    return sum;
}

_Noreturn void work_report(const work_usage *others, pid_t daemon_pid) {
    char line[160];
    work_usage sum = work_used();
    int length = snprintf(line, sizeof line,
                          "{\"cpu_usec\": %12" PRId64 ", \"vol_ctxt\": %12" PRId64
                          ", \"inv_ctxt\": %12" PRId64 ", \"daemon_pid\": %12d}\n",
                          sum.cpu_usec + others->cpu_usec, sum.voluntary + others->voluntary + 1,
                          sum.involuntary + others->involuntary, (int)daemon_pid);
    _exit(write(1, line, (size_t)length) == length ? 0 : WORK_FAILED);
}

void work_sleep_ms(int64_t ms) {
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void work_burn(int64_t usec) {
    struct timespec t;
    do {
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 < usec);
}

char *work_touch(int64_t mib) {
    size_t size = (size_t)mib * WORK_MIB;
    char *memory =
        mmap(NULL, size + WORK_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        work_fail("mmap");
    }
    for (size_t i = 0; i < size; i += WORK_PAGE) {
        memory[i] = 1;
    }
    return memory;
}

void work_release(char *memory, int64_t mib) {
    (void)munmap(memory, (size_t)mib * WORK_MIB + WORK_PAGE);
}

pid_t work_fork(void) {
    pid_t pid = fork();
    if (pid < 0) {
        work_fail("fork");
    }
    return pid;
}

void work_wait(pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        _exit(WORK_FAILED); /* the child has said why */
    }
}
