/* truth: loads whose use of CPU, memory, I/O and context switches is known, to hold a measurement
 * against. The last line on stdout is JSON: what the kernel had counted at the last moment. */
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, BLOCK = 64 << 10 };
enum { MOST_CHILDREN = 64, MOST_THREADS = 64 };

static const char help[] =
    "usage: truth LOAD\n"
    "  cpu CHILDREN USEC          CHILDREN grandchildren, one after the other; CHILDREN x USEC of\n"
    "                             CPU time in all, forking and exiting included\n"
    "  spike MIB MS               a grandchild touches MIB and keeps it for MS\n"
    "  siblings MIB MS DELAY_MS   two children hold MIB each, both for MS, after DELAY_MS\n"
    "  readers MIB CHILDREN MS    holds MIB, which forked CHILDREN read and share for MS\n"
    "  io FILE MIB                for each MiB one child that writes it and one that reads it\n"
    "  daemon CPU_MS MIB ends|stays  a double-forked daemon of so much CPU time and memory, which\n"
    "                             ends before this does, or stays behind for a minute\n"
    "  switches THREADS SLEEPS    threads that sleep so many times\n"
    "  launcher MIB COMMAND...    runs COMMAND as the child of a process that holds MIB\n"
    "\n"
    "At the end one line of JSON: cpu_usec, vol_ctxt, inv_ctxt, daemon_pid, of all that ran\n"
    "(not for launcher).\n";

/* Does the work in a child and waits for it. */
static void in_child(void (*work)(const int64_t *number), const int64_t *number) {
    pid_t pid = work_fork();
    if (pid == 0) {
        work(number);
        _exit(0);
    }
    work_wait(pid);
}

static void burn_share(const int64_t *usec) {
    work_burn(*usec);
}

/* The share of each grandchild is what is missing so far. */
static void burn_in_children(const int64_t *number) {
    for (int64_t i = 1; i <= number[0]; i++) {
        int64_t share = i * number[1] - work_used().cpu_usec;
        in_child(burn_share, &share);
    }
}

static void load_cpu(const int64_t *number) {
    in_child(burn_in_children, number);
}

static void hold(const int64_t *number) {
    (void)work_touch(number[0]);
    work_sleep_ms(number[1]);
}

static void hold_in_child(const int64_t *number) {
    in_child(hold, number);
}

static void load_spike(const int64_t *number) {
    in_child(hold_in_child, number);
}

/* In a child: gets its memory ready, says so, and keeps it until the parent closes its pipe. */
static _Noreturn void take_part(int ready, int go, const char *shared, int64_t mib) {
    unsigned int sum = 0;
    const char *memory = shared != NULL ? shared : work_touch(mib);
    for (size_t i = 0; i < (size_t)mib * WORK_MIB; i += WORK_PAGE) {
        sum += (unsigned char)memory[i];
    }
    char byte = (char)sum;
    if (write(ready, &byte, 1) != 1) {
        work_fail("pipe");
    }
    _exit(read(go, &byte, 1) == 0 ? 0 : WORK_FAILED);
}

/* Children that hold their memory all at the same time, for so long. shared: NULL: each its own. */
static void hold_together(int64_t children, const char *shared, int64_t mib, int64_t ms) {
    int ready[2], go[2];
    pid_t pid[MOST_CHILDREN];
    if (children > MOST_CHILDREN || pipe(ready) != 0 || pipe(go) != 0) {
        work_fail("pipe");
    }
    for (int64_t i = 0; i < children; i++) {
        pid[i] = work_fork();
        if (pid[i] == 0) {
            (void)close(go[1]);
            take_part(ready[1], go[0], shared, mib);
        }
    }
    (void)close(ready[1]);
    char byte;
    for (int64_t i = 0; i < children; i++) {
        if (read(ready[0], &byte, 1) != 1) {
            work_fail("a child");
        }
    }
    work_sleep_ms(ms);
    (void)close(go[1]);
    for (int64_t i = 0; i < children; i++) {
        work_wait(pid[i]);
    }
}

static void load_siblings(const int64_t *number) {
    work_sleep_ms(number[2]);
    hold_together(2, NULL, number[0], number[1]);
}

static void load_readers(const int64_t *number) {
    hold_together(number[1], work_touch(number[0]), number[0], number[2]);
}

/* One MiB of the file, in blocks. */
static void transfer(const char *file, bool writes, int64_t offset) {
    static char block[BLOCK];
    int fd = open(file, writes ? O_WRONLY | O_CREAT : O_RDONLY, 0600);
    if (fd < 0 || lseek(fd, (off_t)offset, SEEK_SET) < 0) {
        work_fail(file);
    }
    for (int i = 0; i < WORK_MIB / BLOCK; i++) {
        if ((writes ? write(fd, block, BLOCK) : read(fd, block, BLOCK)) != BLOCK) {
            work_fail(file);
        }
    }
    _exit(close(fd) == 0 ? 0 : WORK_FAILED);
}

static void load_io(const char *file, int64_t mib) {
    for (int64_t i = 0; i < 2 * mib; i++) {
        pid_t pid = work_fork();
        if (pid == 0) {
            transfer(file, i % 2 == 0, i / 2 * WORK_MIB);
        }
        work_wait(pid);
    }
    (void)unlink(file);
}

typedef struct {
    pid_t pid;
    work_usage used;
} daemon_message;

/* In the daemon, which nobody waits for: tells what it has used so far through the pipe. */
static _Noreturn void be_daemon(int out, const int64_t *number, bool stays) {
    char *memory = work_touch(number[1]);
    work_burn(number[0] * 1000);
    work_release(memory, number[1]); /* now: it takes CPU time too */
    daemon_message message = {.pid = getpid(), .used = work_used()};
    if (write(out, &message, sizeof message) != (ssize_t)sizeof message) {
        _exit(WORK_FAILED);
    }
    if (stays) {
        (void)close(out);
        work_sleep_ms(60000);
    }
    _exit(0);
}

static _Noreturn void load_daemon(const int64_t *number, bool stays) {
    int line[2];
    if (pipe(line) != 0) {
        work_fail("pipe");
    }
    pid_t middle = work_fork();
    if (middle == 0) {
        if (setsid() < 0 || work_fork() != 0) {
            _exit(0);
        }
        (void)close(0);
        (void)close(1);
        (void)close(2);
        be_daemon(line[1], number, stays);
    }
    work_wait(middle);
    (void)close(line[1]);
    daemon_message message;
    char byte;
    if (read(line[0], &message, sizeof message) != (ssize_t)sizeof message ||
        read(line[0], &byte, 1) != 0) {
        work_fail("the daemon");
    }
    work_sleep_ms(50); /* one that ends has ended by then */
    work_report(&message.used, message.pid);
}

static void *sleep_often(void *sleeps) {
    for (int64_t i = 0; i < *(const int64_t *)sleeps; i++) {
        work_sleep_ms(1);
    }
    return NULL;
}

static void load_switches(const int64_t *number) {
    pthread_t thread[MOST_THREADS];
    int64_t sleeps = number[1];
    for (int64_t i = 0; i < number[0] && i < MOST_THREADS; i++) {
        if (pthread_create(&thread[i], NULL, sleep_often, &sleeps) != 0) {
            work_fail("pthread_create");
        }
    }
    for (int64_t i = 0; i < number[0] && i < MOST_THREADS; i++) {
        (void)pthread_join(thread[i], NULL);
    }
}

static _Noreturn void load_launcher(int64_t mib, char **command) {
    (void)work_touch(mib);
    pid_t pid = work_fork();
    if (pid == 0) {
        (void)execvp(command[0], command);
        work_fail(command[0]);
    }
    work_wait(pid);
    _exit(0);
}

static int64_t number_of(const char *text) {
    char *end = NULL;
    errno = 0;
    intmax_t value = text == NULL ? -1 : strtoimax(text, &end, 10);
    if (text == NULL || end == text || *end != '\0' || errno != 0 || value < 0 || value > 1000000) {
        (void)fputs(help, stderr);
        _exit(EXIT_USAGE);
    }
    return value;
}

static const struct {
    const char *name;
    int numbers;
    void (*run)(const int64_t *number);
} loads[] = {
    {"cpu", 2, load_cpu},         {"spike", 2, load_spike},       {"siblings", 3, load_siblings},
    {"readers", 3, load_readers}, {"switches", 2, load_switches},
};

int main(int argc, char **argv) {
    const char *load = argc > 1 ? argv[1] : "--help";
    const work_usage nothing = {0};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        if (strcmp(load, loads[i].name) == 0 && argc == 2 + loads[i].numbers) {
            int64_t number[3] = {0};
            for (int n = 0; n < loads[i].numbers; n++) {
                number[n] = number_of(argv[2 + n]);
            }
            loads[i].run(number);
            work_report(&nothing, 0);
        }
    }
    if (strcmp(load, "io") == 0 && argc == 4) {
        load_io(argv[2], number_of(argv[3]));
        work_report(&nothing, 0);
    }
    if (strcmp(load, "daemon") == 0 && argc == 5) {
        const int64_t number[] = {number_of(argv[2]), number_of(argv[3])};
        load_daemon(number, strcmp(argv[4], "stays") == 0);
    }
    if (strcmp(load, "launcher") == 0 && argc > 3) {
        load_launcher(number_of(argv[2]), argv + 3);
    }
    bool asked = strcmp(load, "--help") == 0 && argc == 2;
    (void)fputs(help, asked ? stdout : stderr);
    return asked ? 0 : EXIT_USAGE;
}
