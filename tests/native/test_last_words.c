#include "check.h"
#include "last_words.h"

#include <signal.h>

#define GIB (UINT64_C(1) << 30)

static char line[512];

/* The line, or "" where nothing is said. */
static const char *said(probe_last_words seen) {
    return probe_last_words_format(&seen, line, sizeof line) ? line : "";
}

static void a_death_by_a_signal_is_told_with_what_was_seen(void) {
    CHECK_STR(
        said((probe_last_words){.signal = SIGKILL,
                                .elapsed_ms = 2472900,
                                .rss_bytes = 66678993715, /* 62.1 GiB */
                                .limit_bytes = 64 * GIB,
                                .oom_kills = 1,
                                .vram_used_mib = 81510,
                                .vram_total_mib = 81920,
                                .vram_peak_ms = 2472000,
                                .xids = 1,
                                .xid = {31}}),
        "gpu-probe: killed by SIGKILL at 00:41:12, peak RSS 62.1 GiB of 64 GiB (limit), 1 oom "
        "kill, peak VRAM 79.6 of 80.0 GiB at 00:41:12, Xid 31\n");
    CHECK_STR(said((probe_last_words){.signal = SIGSEGV, .elapsed_ms = 100 * 3600 * 1000}),
              "gpu-probe: killed by SIGSEGV at 100:00:00\n");
    CHECK_STR(said((probe_last_words){.signal = SIGTERM,
                                      .rss_bytes = 5 << 20,
                                      .limit_bytes = 16 * GIB,
                                      .limit_is_hosts = true}),
              "gpu-probe: killed by SIGTERM at 00:00:00, peak RSS 5 MiB of 16 GiB (host)\n");
    CHECK_STR(said((probe_last_words){.signal = 40, .rss_bytes = 5 << 20, .gpu_lost = true}),
              "gpu-probe: killed by signal 40 at 00:00:00, peak RSS 5 MiB, a GPU stopped "
              "answering\n");
}

static void a_time_limit_is_a_warning_before_the_end(void) {
    probe_last_words seen = {
        .exit_status = 1, .elapsed_ms = 90000, .warned_signal = SIGTERM, .warned_ms = 60000};
    CHECK_STR(said(seen),
              "gpu-probe: ended with exit status 1 at 00:01:30, 30 s after a SIGTERM\n");
    seen.exit_status = 0;
    seen.signal = SIGKILL;
    seen.warned_signal = SIGXCPU;
    CHECK_STR(said(seen), "gpu-probe: killed by SIGKILL at 00:01:30, 30 s after a SIGXCPU\n");
    seen.signal = 0;
    seen.exit_status = 1;
    seen.elapsed_ms = 60000 + 91 * 1000; /* it went on for long: the warning was something else */
    CHECK_STR(said(seen), "");
}

static void an_oom_kill_of_a_child_counts_when_it_is_the_tasks(void) {
    probe_last_words seen = {.exit_status = 1, .oom_kills = 2};
    CHECK_STR(said(seen), "gpu-probe: ended with exit status 1 at 00:00:00, 2 oom kills\n");
    seen.oom_shared = true;
    CHECK_STR(said(seen), "");
    seen.exit_status = 137;
    CHECK_STR(said(seen), "gpu-probe: ended with exit status 137 at 00:00:00, 2 oom kills\n");
}

static void a_failure_of_the_gpu_explains_that_of_the_command(void) {
    probe_last_words seen = {.exit_status = 1, .xids = 2, .xid = {31, 79}, .gpu_lost = true};
    CHECK_STR(said(seen), "gpu-probe: ended with exit status 1 at 00:00:00, Xid 31 and 79, a GPU "
                          "stopped answering\n");
    seen.exit_status = 0;
    CHECK_STR(said(seen), "");
}

static void nothing_is_said_otherwise(void) {
    CHECK_STR(said((probe_last_words){0}), "");
    CHECK_STR(said((probe_last_words){.exit_status = 3}), "");
    CHECK_STR(said((probe_last_words){.oom_kills = 1}), "");
    CHECK_STR(said((probe_last_words){.warned_signal = SIGTERM}), "");
    CHECK_STR(said((probe_last_words){.signal = SIGPIPE}), "");
}

int main(void) {
    a_death_by_a_signal_is_told_with_what_was_seen();
    a_time_limit_is_a_warning_before_the_end();
    an_oom_kill_of_a_child_counts_when_it_is_the_tasks();
    a_failure_of_the_gpu_explains_that_of_the_command();
    nothing_is_said_otherwise();
    return check_failures();
}
