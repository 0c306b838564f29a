/* What one sample costs: CPU time of probe_sampler_step beside a bare loop that reads the same
 * files through descriptors it keeps, and beside the same sampler without kept descriptors. They
 * take turns within every round. Prints a Markdown table. */
#include "clock.h"
#include "sampler.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A round is as many samples as it takes to read every file once. */
enum { PROCESSES_MAX = 128, ROUNDS_MAX = 2000, SAMPLES_A_ROUND = 5, WARM_UP = 10 };

typedef struct {
    int children[PROCESSES_MAX + 1], statm[PROCESSES_MAX], status[PROCESSES_MAX];
    int group[2]; /* -1: not read here */
    int count;
    uint32_t samples;
} bare_loop;

static int open_file(const char *format, pid_t pid) {
    char path[64];
    (void)snprintf(path, sizeof path, format, (int)pid, (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_group_file(const probe_cgroup_paths *paths, const char *name) {
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/%s", paths->memory, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void open_loop(bare_loop *loop, const pid_t *pids, int count,
                      const probe_cgroup_reader *group) {
    *loop = (bare_loop){.count = count, .group = {-1, -1}};
    for (int i = 0; i < count; i++) {
        loop->children[i] = open_file("/proc/%d/task/%d/children", pids[i]);
        loop->statm[i] = open_file("/proc/%d/statm", pids[i]);
        loop->status[i] = open_file("/proc/%d/status", pids[i]);
    }
    loop->children[count] = open_file("/proc/%d/task/%d/children", getpid());
    if (group->paths.version == 0) {
        return;
    }
    loop->group[0] = open_group_file(&group->paths, "memory.stat");
    if (group->last.peak_sampled) {
        loop->group[1] = open_group_file(
            &group->paths, group->paths.version == 1 ? "memory.usage_in_bytes" : "memory.current");
    }
}

static void close_loop(const bare_loop *loop) {
    for (int i = 0; i < loop->count; i++) {
        (void)close(loop->children[i]);
        (void)close(loop->statm[i]);
        (void)close(loop->status[i]);
    }
    (void)close(loop->children[loop->count]);
    (void)close(loop->group[0]);
    (void)close(loop->group[1]);
}

static void reread(int fd) {
    static char buf[8192];
    if (fd >= 0 && pread(fd, buf, sizeof buf, 0) < 0) {
        perror("sampler_cost: a file cannot be read again");
        exit(1);
    }
}

static void run_loop(bare_loop *loop) {
    reread(loop->children[loop->count]);
    for (int i = 0; i < loop->count; i++) {
        reread(loop->children[i]);
        reread(loop->statm[i]);
        if ((loop->samples + (uint32_t)i) % SAMPLES_A_ROUND == 0) {
            reread(loop->status[i]);
        }
    }
    reread(loop->group[0]);
    reread(loop->group[1]);
    loop->samples++;
}

static probe_sampler kept, reopening;

static void open_sampler(probe_sampler *sampler, int max_descriptors) {
    const probe_sampler_config config = {.proc_root = "/proc",
                                         .fs_root = "",
                                         .scope = PROBE_SCOPE_DESCENDANTS,
                                         .interval_ns = PROBE_NS_PER_S,
                                         .max_descriptors = max_descriptors};
    probe_sampler_open(sampler, &config);
    probe_sampler_start(sampler, 0, 0);
}

static double cost_us(probe_sampler *sampler, bare_loop *loop, int64_t now_ns) {
    int64_t before = probe_clock_thread_ns();
    if (loop != NULL) {
        run_loop(loop);
    } else {
        probe_sampler_step(sampler, now_ns);
    }
    return (double)(probe_clock_thread_ns() - before) / 1e3;
}

static int compare(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double quantile(double *values, int count, double share) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[(int)(share * (count - 1) + 0.5)];
}

/* One row: medians per sample, and the ratio within each round. */
static void measure(const pid_t *pids, int count, int rounds) {
    static double floor_us[ROUNDS_MAX], ours_us[ROUNDS_MAX], open_us[ROUNDS_MAX], ratio[ROUNDS_MAX];
    bare_loop loop;
    int64_t now = PROBE_NS_PER_S; /* behind the dense samples of the start */
    open_sampler(&kept, 1024);
    open_sampler(&reopening, 0);
    open_loop(&loop, pids, count, &kept.cgroup);
    for (int round = -WARM_UP; round < rounds; round++) {
        double sum[3] = {0};
        for (int i = 0; i < SAMPLES_A_ROUND; i++, now += PROBE_NS_PER_S) {
            for (int turn = 0; turn < 3; turn++) {
                int who = (turn + round + WARM_UP) % 3;
                sum[who] += who == 0 ? cost_us(NULL, &loop, now)
                                     : cost_us(who == 1 ? &kept : &reopening, NULL, now);
            }
        }
        if (round >= 0) {
            floor_us[round] = sum[0] / SAMPLES_A_ROUND;
            ours_us[round] = sum[1] / SAMPLES_A_ROUND;
            open_us[round] = sum[2] / SAMPLES_A_ROUND;
            ratio[round] = sum[1] / sum[0];
        }
    }
    (void)printf("| %d | %.1f | %.1f | %.2f [%.2f, %.2f] | %.1f |\n", count,
                 quantile(floor_us, rounds, 0.5), quantile(ours_us, rounds, 0.5),
                 quantile(ratio, rounds, 0.5), quantile(ratio, rounds, 0.25),
                 quantile(ratio, rounds, 0.75), quantile(open_us, rounds, 0.5));
    (void)fflush(stdout);
    close_loop(&loop);
    probe_sampler_close(&kept);
    probe_sampler_close(&reopening);
}

int main(int argc, char **argv) {
    static const int counts[] = {1, 10, 100};
    static pid_t pids[PROCESSES_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: sampler_cost [ROUNDS], 1 to %d\n", ROUNDS_MAX);
        return 2;
    }
    (void)printf("| processes | bare loop µs | gpu-probe µs | ratio | opening each time µs |\n"
                 "| ---: | ---: | ---: | ---: | ---: |\n");
    (void)fflush(stdout);
    int started = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (; started < counts[i]; started++) {
            pids[started] = fork();
            if (pids[started] == 0) {
                (void)pause();
                _exit(0);
            }
        }
        measure(pids, counts[i], rounds);
    }
    for (int i = 0; i < started; i++) {
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    return 0;
}
