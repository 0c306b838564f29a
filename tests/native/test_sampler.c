/* The sampler on real children, with an invented clock. */
#include "check.h"
#include "clock.h"
#include "sampler.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static probe_sampler sampler;

static void open_sampler(int64_t interval_ms) {
    const probe_sampler_config config = {
        .proc_root = "/proc",
        .fs_root = "",
        .scope = PROBE_SCOPE_DESCENDANTS,
        .interval_ns = interval_ms * PROBE_NS_PER_MS,
        .max_descriptors = 64,
    };
    probe_sampler_open(&sampler, &config);
    probe_sampler_settle(&sampler);
    probe_sampler_start(&sampler, 0, 0);
}

static void steps_are_dense_at_first_and_then_on_a_fixed_grid(void) {
    static const int64_t expected_ms[] = {2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3000};
    open_sampler(1000);
    for (size_t i = 0; i < sizeof expected_ms / sizeof expected_ms[0]; i++) {
        CHECK_INT(sampler.next_ns, expected_ms[i] * PROBE_NS_PER_MS);
        probe_sampler_step(&sampler, sampler.next_ns);
    }
    probe_sampler_step(
        &sampler,
        4700 * PROBE_NS_PER_MS); /* late: the grid stays, missed steps are not made up for */
    CHECK_INT(sampler.next_ns, 5000 * PROBE_NS_PER_MS);
    open_sampler(15);
    static const int64_t short_ms[] = {2, 5, 10, 15, 30, 45};
    for (size_t i = 0; i < sizeof short_ms / sizeof short_ms[0]; i++) {
        CHECK_INT(sampler.next_ns, short_ms[i] * PROBE_NS_PER_MS);
        probe_sampler_step(&sampler, sampler.next_ns);
    }
}

static void a_costly_sample_is_taken_less_often(void) {
    const int64_t ms = PROBE_NS_PER_MS, s = PROBE_NS_PER_S;
    CHECK_INT(probe_sampler_spacing_ns(s, 100000, 500), s);     /* 0.01 % of a CPU: no need */
    CHECK_INT(probe_sampler_spacing_ns(s, 500000, 500), s);     /* just within 0.05 % */
    CHECK_INT(probe_sampler_spacing_ns(s, 2 * ms, 500), 4 * s); /* 2 ms in 4 s are 0.05 % */
    CHECK_INT(probe_sampler_spacing_ns(10 * ms, 100000, 500), 200 * ms);
    CHECK_INT(probe_sampler_spacing_ns(10 * ms, 100000, 0), 10 * ms); /* no budget */
    CHECK_INT(probe_sampler_spacing_ns(s, 0, 500), s);
    CHECK_INT(probe_sampler_spacing_ns(s, -1, 500), s); /* a clock that went back */
    CHECK(probe_sampler_spacing_ns(s, INT64_MAX, 1) > 1000 * s);
}

/* A child with mib MiB touched, which has a child of its own with as much; both hold until killed.
 */
static pid_t start_holders(size_t mib, int ready) {
    pid_t pid = fork();
    if (pid == 0) {
        pid_t inner = fork();
        size_t size = mib << 20;
        char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < size; i += 4096) {
            block[i] = 1;
        }
        char byte = 0;
        (void)!write(ready, &byte, 1);
        (void)pause();
        _exit(inner < 0);
    }
    return pid;
}

static void memory_is_the_sum_over_the_tree_at_one_instant(void) {
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    open_sampler(1000);
    pid_t pid = start_holders(40, ready[1]);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    probe_sampler_step(&sampler, PROBE_NS_PER_MS);
    CHECK_INT(sampler.tree.count, 2);
    CHECK_INT(sampler.tree.pid[0], pid);
    probe_proc_block block;
    probe_sampler_summarize(&sampler, 50 * PROBE_NS_PER_MS, &block);
    CHECK(block.memory_valid);
    CHECK(block.rss_kib >= 80 * 1024 && block.rss_kib < 100 * 1024);
    CHECK(block.vmem_kib >= block.rss_kib);
    CHECK(block.peak_rss_kib >= block.rss_kib);
    CHECK(block.peak_rss_upper_kib >= block.peak_rss_kib);
    CHECK(sampler.set.descriptors > 0);
    CHECK_INT(block.realtime_ms, 50);
    CHECK_INT(sampler.samples, 1);

    sampler.excluded[PROBE_EXCLUDED_HELPER] = pid; /* with all below it */
    probe_sampler_step(&sampler, 2 * PROBE_NS_PER_MS);
    CHECK_INT(sampler.tree.count, 0);
    CHECK_INT(sampler.samples, 1); /* nothing could be read: no sample */

    CHECK_INT(kill(sampler.tree.pid[1], SIGKILL), 0); /* of the walk before */
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    probe_sampler_close(&sampler);
    CHECK_INT(sampler.set.descriptors, 0);
}

static void a_task_without_samples_says_so(void) {
    open_sampler(1000);
    probe_proc_block block;
    probe_sampler_summarize(&sampler, 0, &block); /* no time at all: no division by zero */
    CHECK(!block.memory_valid && !block.host_memory_valid);
    CHECK_INT(block.realtime_ms, 0);
    CHECK_INT(block.pct_cpu, 0);
    CHECK(sampler.host.mem_total_kib > 0);
    CHECK(sampler.host.pid_start > 0);
    CHECK(sampler.host.hostname[0] != '\0');
}

int main(void) {
    steps_are_dense_at_first_and_then_on_a_fixed_grid();
    a_costly_sample_is_taken_less_often();
    memory_is_the_sum_over_the_tree_at_one_instant();
    a_task_without_samples_says_so();
    return check_failures();
}
