#include "check.h"
#include "options.h"

#include <stdlib.h>

static probe_options parsed;

/* Parses up to six arguments after the program's name. */
static const probe_options *parse(const char *a, const char *b, const char *c, const char *d) {
    static char *argv[6];
    argv[0] = (char *)"gpu-probe";
    argv[1] = (char *)a;
    argv[2] = a == NULL ? NULL : (char *)b;
    argv[3] = argv[2] == NULL ? NULL : (char *)c;
    argv[4] = argv[3] == NULL ? NULL : (char *)d;
    argv[5] = NULL;
    probe_options_parse(&parsed, argv);
    return &parsed;
}

static void durations_need_a_unit(void) {
    int64_t ns = 0;
    CHECK(probe_parse_duration("10ms", &ns));
    CHECK_INT(ns, 10000000);
    CHECK(probe_parse_duration("0.5s", &ns));
    CHECK_INT(ns, 500000000);
    CHECK(probe_parse_duration("2m", &ns));
    CHECK_INT(ns, 120000000000LL);
    const char *const wrong[] = {"1",   "s",    "",      "-1s",   " 1s",
                                 "1 s", "1sec", "nan s", "1e30s", "0x10s1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!probe_parse_duration(wrong[i], &ns));
    }
}

static void a_budget_is_a_share_of_one_cpu(void) {
    int64_t ppm = 0;
    CHECK(probe_parse_budget("0.05%", &ppm));
    CHECK_INT(ppm, 500);
    CHECK(probe_parse_budget("100%", &ppm));
    CHECK_INT(ppm, 1000000);
    CHECK(probe_parse_budget("off", &ppm));
    CHECK_INT(ppm, 0);
    const char *const wrong[] = {"1", "0%", "101%", "-1%", "", "%", "1 %", "1%%", "nan%", "on"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!probe_parse_budget(wrong[i], &ppm));
    }
    CHECK_INT(parse("--budget", "1%", "true", NULL)->budget_ppm, 10000);
    CHECK_INT(parse("true", NULL, NULL, NULL)->budget_ppm, 500);
    CHECK_INT(parse("--budget", "1", "true", NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--budget: '1' is neither a share of one CPU, such as 0.05%, nor off");
}

static void options_end_at_the_command(void) {
    CHECK_INT(parse("--interval=20ms", "ls", "--help", NULL)->action, PROBE_RUN);
    CHECK_INT(parsed.interval_ns, 20000000);
    CHECK_STR(parsed.command[0], "ls");
    CHECK_STR(parsed.command[1], "--help");
    CHECK(parsed.command[2] == NULL);
    CHECK_INT(parse("--", "--odd-name", NULL, NULL)->action, PROBE_RUN);
    CHECK_STR(parsed.command[0], "--odd-name");
    CHECK_INT(parse("--workdir", "/w", "true", NULL)->action, PROBE_RUN);
    CHECK_STR(parsed.workdir, "/w");
    CHECK_INT(parse("true", NULL, NULL, NULL)->action, PROBE_RUN);
    CHECK_STR(parsed.workdir, ".");
    CHECK_INT(parsed.interval_ns, 1000000000);
}

static void mistakes_are_named(void) {
    CHECK_INT(parse("--interval", "1", "true", NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--interval: '1' is not a time with a unit, such as 250ms or 1s");
    CHECK_INT(parse("--interval", "9ms", "true", NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--interval: '9ms' is too short: at least 10ms");
    CHECK_INT(parse("--wrokdir", "x", "true", NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "unknown option '--wrokdir'; see gpu-probe --help");
    CHECK_INT(parse("--workdir", NULL, NULL, NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--workdir needs a value");
    CHECK_INT(parse("--trace-file", "--", "true", NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--trace-file needs a value");
    CHECK_INT(parse("--trace-file=", "true", NULL, NULL)->action, PROBE_USAGE_ERROR);
    CHECK_INT(parse(NULL, NULL, NULL, NULL)->action, PROBE_USAGE_ERROR);
    CHECK_INT(parse("--", NULL, NULL, NULL)->action, PROBE_USAGE_ERROR);
}

static void the_library_may_come_from_the_environment(void) {
    CHECK_INT(setenv("GPU_PROBE_NVML_LIBRARY", "/lib/mock.so", 1), 0);
    CHECK_STR(parse("true", NULL, NULL, NULL)->nvml_library, "/lib/mock.so");
    CHECK_STR(parse("--nvml-library", "/other.so", "true", NULL)->nvml_library, "/other.so");
    CHECK_INT(setenv("GPU_PROBE_NVML_LIBRARY", "", 1), 0);
    CHECK(parse("true", NULL, NULL, NULL)->nvml_library == NULL);
}

static void devices_are_chosen_by_a_word_or_a_list(void) {
    CHECK(parse("true", NULL, NULL, NULL)->gpus == NULL);
    const char *const right[] = {"auto", "none", "all", "0", "0,12", "GPU-8932f9,1", "MIG-1,GPU-2"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        CHECK_INT(parse("--gpus", right[i], "true", NULL)->action, PROBE_RUN);
        CHECK_STR(parsed.gpus, right[i]);
    }
    const char *const wrong[] = {"any", "-1", "0,", ",0", "0-2", "1gpu", "0, 1", "gpu-1", "none,0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_INT(parse("--gpus", wrong[i], "true", NULL)->action, PROBE_USAGE_ERROR);
    }
    CHECK_STR(parsed.error, "--gpus: 'none,0' is none of auto, none, all and a list of indices and "
                            "UUIDs, such as 0,2 or GPU-8932f9");
    CHECK_INT(setenv("GPU_PROBE_GPUS", "1", 1), 0);
    CHECK_STR(parse("true", NULL, NULL, NULL)->gpus, "1");
    CHECK_STR(parse("--gpus", "2", "true", NULL)->gpus, "2");
    CHECK_INT(setenv("GPU_PROBE_GPUS", "some", 1), 0);
    CHECK_INT(parse("true", NULL, NULL, NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "GPU_PROBE_GPUS: 'some' is none of auto, none, all and a list of "
                            "indices and UUIDs, such as 0,2 or GPU-8932f9");
    CHECK_INT(parse("--gpus", "auto", "true", NULL)->action, PROBE_RUN);
    CHECK_INT(unsetenv("GPU_PROBE_GPUS"), 0);
}

static void the_control_group_is_chosen_by_name(void) {
    CHECK_INT(parse("true", NULL, NULL, NULL)->cgroup_mode, PROBE_CGROUP_AUTO);
    CHECK_INT(parse("--cgroup", "own", "true", NULL)->cgroup_mode, PROBE_CGROUP_OWN);
    CHECK_INT(parse("--cgroup=shared", "true", NULL, NULL)->cgroup_mode, PROBE_CGROUP_SHARED);
    CHECK_INT(parse("--cgroup=off", "true", NULL, NULL)->cgroup_mode, PROBE_CGROUP_OFF);
    CHECK_INT(parse("--cgroup=auto", "true", NULL, NULL)->cgroup_mode, PROBE_CGROUP_AUTO);
    CHECK_STR(parsed.command[0], "true");
    CHECK_INT(parse("--cgroup", "mine", "true", NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--cgroup: 'mine' is none of auto, own, shared and off");
}

static void flags_stand_alone(void) {
    CHECK_INT(parse("--timeline", "--quiet", "true", NULL)->action, PROBE_RUN);
    CHECK(parsed.timeline);
    CHECK(parsed.quiet);
    CHECK(!parse("true", "--timeline", "--quiet", NULL)->timeline);
    CHECK(!parsed.quiet);
    CHECK(parse("--summary", "true", NULL, NULL)->summary);
    CHECK(!parse("--summary", "--no-summary", "true", NULL)->summary);
    CHECK(parsed.summary_given);
}

static void check_runs_no_command(void) {
    CHECK_INT(parse("--check", NULL, NULL, NULL)->action, PROBE_CHECK);
    CHECK(!parsed.json);
    CHECK_INT(parse("--json", "--check", "--workdir", "/w")->action, PROBE_CHECK);
    CHECK(parsed.json);
    CHECK_STR(parsed.workdir, "/w");
    CHECK_INT(parse("--check", "true", NULL, NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--check runs no command; 'true' is too much");
    CHECK_INT(parse("--json", "true", NULL, NULL)->action, PROBE_USAGE_ERROR);
    CHECK_STR(parsed.error, "--json goes with --check");
    CHECK_INT(parse("--check", "--help", NULL, NULL)->action, PROBE_SHOW_HELP);
}

int main(void) {
    durations_need_a_unit();
    a_budget_is_a_share_of_one_cpu();
    options_end_at_the_command();
    mistakes_are_named();
    flags_stand_alone();
    check_runs_no_command();
    the_library_may_come_from_the_environment();
    devices_are_chosen_by_a_word_or_a_list();
    the_control_group_is_chosen_by_name();
    return check_failures();
}
