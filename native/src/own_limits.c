#include "own_limits.h"

#include "descriptors.h"

#include <stdio.h>

/* With less there is no room for a measurement: what it needs, and as much again. */
static const struct {
    int resource;
    unsigned int fewest_kib;
    const char *what;
} memory_limits[] = {
    {RLIMIT_AS, 2048, "of address space (ulimit -v)"},
    {RLIMIT_DATA, 1024, "of data (ulimit -d)"},
    {RLIMIT_STACK, 128, "of stack (ulimit -s)"},
};

static bool has_memory(char *reason, size_t size) {
    for (size_t i = 0; i < sizeof memory_limits / sizeof memory_limits[0]; i++) {
        struct rlimit limit;
        if (getrlimit(memory_limits[i].resource, &limit) == 0 &&
            limit.rlim_cur / 1024 < memory_limits[i].fewest_kib) {
            (void)snprintf(reason, size, "%u KiB %s are too few, %u are needed",
                           (unsigned int)(limit.rlim_cur / 1024), memory_limits[i].what,
                           memory_limits[i].fewest_kib);
            return false;
        }
    }
    return true;
}

bool probe_limits_begin(probe_limits *limits, char *reason, size_t size) {
    *limits = (probe_limits){0};
    if (!has_memory(reason, size)) {
        return false;
    }
    if (getrlimit(RLIMIT_CPU, &limits->cpu) == 0 && limits->cpu.rlim_cur < limits->cpu.rlim_max) {
        const struct rlimit hard = {limits->cpu.rlim_max, limits->cpu.rlim_max};
        limits->cpu_raised = setrlimit(RLIMIT_CPU, &hard) == 0;
    }
    if (!probe_descriptors_begin(&limits->descriptors, &limits->descriptors_raised)) {
        (void)snprintf(reason, size,
                       "%u open files at most (ulimit -Hn) are too few, %d are needed",
                       (unsigned int)limits->descriptors.rlim_max, PROBE_DESCRIPTORS_FEWEST);
        return false;
    }
    return true;
}

void probe_limits_give_back(const probe_limits *limits) {
    if (limits->descriptors_raised) {
        (void)setrlimit(RLIMIT_NOFILE, &limits->descriptors);
    }
    if (limits->cpu_raised) {
        (void)setrlimit(RLIMIT_CPU, &limits->cpu);
    }
}
