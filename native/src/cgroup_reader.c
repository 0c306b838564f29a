#include "cgroup_reader.h"

#include "cgroup_limits.h"
#include "file.h"

#include <stdio.h>
#include <string.h>

#define BIT(key) (UINT32_C(1) << (key))

/* Gauges, peaks and limits are the group's own; every other key counts since open. */
static const uint32_t not_counters = BIT(PROBE_CG_MEMORY_CURRENT) | BIT(PROBE_CG_MEMORY_PEAK) |
                                     BIT(PROBE_CG_MEMORY_RSS) | BIT(PROBE_CG_MEMORY_PEAK_RSS) |
                                     BIT(PROBE_CG_MEMORY_LIMIT) | BIT(PROBE_CG_CPU_QUOTA) |
                                     BIT(PROBE_CG_CPU_PERIOD);
static const uint32_t memory_keys = BIT(PROBE_CG_MEMORY_CURRENT) | BIT(PROBE_CG_MEMORY_PEAK) |
                                    BIT(PROBE_CG_MEMORY_RSS) | BIT(PROBE_CG_MEMORY_PEAK_RSS);

/* v1 writes "no limit" as LONG_MAX rounded down to a page, whose size differs. */
#define V1_UNLIMITED (UINT64_C(1) << 62)

static const char current_v1[] = "memory.usage_in_bytes", current_v2[] = "memory.current";
static const char stat_file[] = "memory.stat", cpu_stat_file[] = "cpu.stat";
#define CURRENT_FILE(v1) ((v1) ? current_v1 : current_v2)
#define RSS_NAME(v1) ((v1) ? "total_rss" : "anon")

static bool has(const probe_cgroup_reading *reading, probe_cgroup_key key) {
    return (reading->valid & BIT(key)) != 0;
}

static void set(probe_cgroup_reading *reading, probe_cgroup_key key, uint64_t value) {
    reading->value[key] = value;
    reading->valid |= BIT(key);
}

static void raise_to(probe_cgroup_reading *reading, probe_cgroup_key key, uint64_t value) {
    if (!has(reading, key) || value > reading->value[key]) {
        set(reading, key, value);
    }
}

/* Sets key from the file's line "name NUMBER", in units of 1/divisor. */
static void set_from_line(probe_cgroup_reading *reading, probe_cgroup_key key, const char *text,
                          const char *name, uint64_t divisor) {
    uint64_t value = 0;
    if (probe_find_u64(text, name, ' ', &value)) {
        set(reading, key, value / divisor);
    }
}

static bool read_text(probe_cgroup_reader *reader, const char *directory, const char *name,
                      char *buf, size_t size) {
    return probe_cgroup_files_read(&reader->files, directory, name, buf, size);
}

static bool read_number(probe_cgroup_reader *reader, const char *directory, const char *name,
                        uint64_t *value) {
    char text[64];
    return read_text(reader, directory, name, text, sizeof text) &&
           probe_parse_u64(text, value, NULL);
}

/* The kernel keeps a peak of the memory in use, not of its anonymous part: that one is sampled. */
static void read_memory(probe_cgroup_reader *reader, const char *current_file,
                        const char *peak_file, const char *rss_name) {
    probe_cgroup_reading *last = &reader->last;
    const char *directory = reader->paths.memory;
    uint64_t current = 0;
    uint64_t peak = 0;
    uint64_t rss = 0;
    char stat[8192];
    bool has_current = read_number(reader, directory, current_file, &current);
    if (has_current) {
        set(last, PROBE_CG_MEMORY_CURRENT, current);
    }
    if (read_number(reader, directory, peak_file, &peak)) {
        raise_to(last, PROBE_CG_MEMORY_PEAK, peak);
        last->peak_sampled = false;
    } else if (has_current && (last->peak_sampled || !has(last, PROBE_CG_MEMORY_PEAK))) {
        raise_to(last, PROBE_CG_MEMORY_PEAK, current);
        last->peak_sampled = true;
    }
    if (!read_text(reader, directory, stat_file, stat, sizeof stat)) {
        return;
    }
    if (probe_find_u64(stat, rss_name, ' ', &rss)) {
        set(last, PROBE_CG_MEMORY_RSS, rss);
        raise_to(last, PROBE_CG_MEMORY_PEAK_RSS, rss);
    }
    uint64_t limit = 0;
    if (reader->paths.version == 1 &&
        probe_find_u64(stat, "hierarchical_memory_limit", ' ', &limit)) {
        set(last, PROBE_CG_MEMORY_LIMIT, limit >= V1_UNLIMITED ? 0 : limit);
    }
}

static void read_oom_kills(probe_cgroup_reader *reader) {
    const char *file = reader->paths.version == 1 ? "memory.oom_control" : "memory.events";
    char text[512];
    if (read_text(reader, reader->paths.memory, file, text, sizeof text)) {
        set_from_line(&reader->last, PROBE_CG_MEMORY_OOM_KILLS, text, "oom_kill", 1);
    }
}

static void read_cpu_time(probe_cgroup_reader *reader) {
    const char *directory = reader->paths.cpuacct;
    probe_cgroup_reading *last = &reader->last;
    if (strcmp(directory, reader->paths.unified) == 0) {
        char text[1024];
        if (read_text(reader, directory, cpu_stat_file, text, sizeof text)) {
            set_from_line(last, PROBE_CG_CPU_USAGE_USEC, text, "usage_usec", 1);
            set_from_line(last, PROBE_CG_CPU_USER_USEC, text, "user_usec", 1);
            set_from_line(last, PROBE_CG_CPU_SYSTEM_USEC, text, "system_usec", 1);
        }
        return;
    }
    /* In nanoseconds; cpuacct.stat would be in ticks of 10 ms. */
    uint64_t value = 0;
    if (read_number(reader, directory, "cpuacct.usage", &value)) {
        set(last, PROBE_CG_CPU_USAGE_USEC, value / 1000);
    }
    if (read_number(reader, directory, "cpuacct.usage_user", &value)) {
        set(last, PROBE_CG_CPU_USER_USEC, value / 1000);
    }
    if (read_number(reader, directory, "cpuacct.usage_sys", &value)) {
        set(last, PROBE_CG_CPU_SYSTEM_USEC, value / 1000);
    }
}

static void read_limits(probe_cgroup_reader *reader) {
    const probe_cgroup_paths *paths = &reader->paths;
    probe_cgroup_reading *last = &reader->last;
    uint64_t limit = 0, quota = 0, period = 0;
    if (paths->version == 2 &&
        probe_cgroup_memory_max(paths->memory, paths->memory_mount, &limit)) {
        set(last, PROBE_CG_MEMORY_LIMIT, limit);
    }
    if (paths->cpu[0] != '\0' && probe_cgroup_cpu_max(paths->cpu, &quota, &period)) {
        set(last, PROBE_CG_CPU_QUOTA, quota);
        set(last, PROBE_CG_CPU_PERIOD, period);
    }
}

static void read_throttling(probe_cgroup_reader *reader) {
    const char *directory = reader->paths.cpu;
    probe_cgroup_reading *last = &reader->last;
    char text[1024];
    if (read_text(reader, directory, cpu_stat_file, text, sizeof text)) {
        set_from_line(last, PROBE_CG_CPU_NR_THROTTLED, text, "nr_throttled", 1);
        set_from_line(last, PROBE_CG_CPU_THROTTLED_USEC, text, "throttled_usec", 1); /* v2 */
        set_from_line(last, PROBE_CG_CPU_THROTTLED_USEC, text, "throttled_time", 1000);
    }
}

static void add_device(uint64_t sums[4], const char *line) {
    static const char *const fields[4] = {" rbytes=", " wbytes=", " rios=", " wios="};
    for (int i = 0; i < 4; i++) {
        const char *field = strstr(line, fields[i]);
        uint64_t value = 0;
        if (field != NULL && probe_parse_u64(field + strlen(fields[i]), &value, NULL)) {
            sums[i] += value;
        }
    }
}

/* One line per device; the file is empty before the first I/O, which is a true 0. Only v2 counts:
 * the blkio.throttle files of v1 stay 0 on current kernels until a throttle is configured. */
static void read_io(probe_cgroup_reader *reader) {
    char text[32768]; /* some 300 devices */
    uint64_t sums[4] = {0};
    if (!read_text(reader, reader->paths.unified, "io.stat", text, sizeof text)) {
        return;
    }
    for (char *next = text, *line; (line = strsep(&next, "\n")) != NULL;) {
        add_device(sums, line);
    }
    set(&reader->last, PROBE_CG_IO_READ_BYTES, sums[0]);
    set(&reader->last, PROBE_CG_IO_WRITE_BYTES, sums[1]);
    set(&reader->last, PROBE_CG_IO_READ_OPS, sums[2]);
    set(&reader->last, PROBE_CG_IO_WRITE_OPS, sums[3]);
}

/* A line is "some avg10=0.00 avg60=0.00 avg300=0.00 total=0". Before Linux 5.13 there is no "full"
 * for the CPU. */
static void set_from_psi(probe_cgroup_reading *reading, probe_cgroup_key key, const char *text,
                         const char *kind) {
    const char *line = strstr(text, kind);
    const char *total = line == NULL ? NULL : strstr(line, " total=");
    uint64_t value = 0;
    if (total != NULL && probe_parse_u64(total + strlen(" total="), &value, NULL)) {
        set(reading, key, value);
    }
}

static void read_psi(probe_cgroup_reader *reader, const char *name, probe_cgroup_key some,
                     probe_cgroup_key full) {
    char text[512];
    if (read_text(reader, reader->paths.unified, name, text, sizeof text)) {
        set_from_psi(&reader->last, some, text, "some ");
        set_from_psi(&reader->last, full, text, "full ");
    }
}

/* All but the limits, which come from many files and hardly ever change. */
static void read_figures(probe_cgroup_reader *reader) {
    const probe_cgroup_paths *paths = &reader->paths;
    if (paths->version == 1) {
        read_memory(reader, CURRENT_FILE(true), "memory.max_usage_in_bytes", RSS_NAME(true));
    } else {
        read_memory(reader, CURRENT_FILE(false), "memory.peak", RSS_NAME(false));
    }
    read_oom_kills(reader);
    if (paths->cpuacct[0] != '\0') {
        read_cpu_time(reader);
    }
    if (paths->cpu[0] != '\0') {
        read_throttling(reader);
    }
    if (paths->unified[0] != '\0') {
        read_io(reader);
        read_psi(reader, "cpu.pressure", PROBE_CG_CPU_PSI_SOME, PROBE_CG_CPU_PSI_FULL);
        read_psi(reader, "memory.pressure", PROBE_CG_MEMORY_PSI_SOME, PROBE_CG_MEMORY_PSI_FULL);
        read_psi(reader, "io.pressure", PROBE_CG_IO_PSI_SOME, PROBE_CG_IO_PSI_FULL);
    }
}

void probe_cgroup_step(probe_cgroup_reader *reader) {
    if (reader->paths.version != 0) {
        read_figures(reader);
        read_limits(reader);
    }
}

void probe_cgroup_sample(probe_cgroup_reader *reader) {
    probe_cgroup_reading *last = &reader->last;
    bool v1 = reader->paths.version == 1;
    const char *directory = reader->paths.memory;
    char text[8192];
    uint64_t value = 0;
    if (reader->paths.version == 0) {
        return;
    }
    if (read_number(reader, directory, CURRENT_FILE(v1), &value)) {
        set(last, PROBE_CG_MEMORY_CURRENT, value);
        if (last->peak_sampled) { /* the kernel keeps none itself */
            raise_to(last, PROBE_CG_MEMORY_PEAK, value);
        }
    }
    if (read_text(reader, directory, stat_file, text, sizeof text) &&
        probe_find_u64(text, RSS_NAME(v1), ' ', &value)) {
        set(last, PROBE_CG_MEMORY_RSS, value);
        raise_to(last, PROBE_CG_MEMORY_PEAK_RSS, value);
    }
    read_oom_kills(reader);
}

/* Empty, but for the paths. */
static void forget(probe_cgroup_reader *reader) {
    reader->files.count = 0;
    reader->members.count = 0;
    reader->memory_total = 0;
    reader->last = (probe_cgroup_reading){0};
    memset(reader->baseline, 0, sizeof reader->baseline);
    reader->baseline_valid = 0;
}

static void take_baseline(probe_cgroup_reader *reader) {
    reader->last.version = reader->paths.version;
    read_figures(reader);
    memcpy(reader->baseline, reader->last.value, sizeof reader->baseline);
    reader->baseline_valid = reader->last.valid;
}

probe_status probe_cgroup_open(probe_cgroup_reader *reader, const char *proc_root,
                               const char *fs_root, const char *pid, probe_error *error) {
    forget(reader);
    probe_status status = probe_cgroup_find(&reader->paths, proc_root, fs_root, pid, error);
    if (status != PROBE_OK) {
        return status;
    }
    probe_cgroup_members_read(&reader->members, reader->paths.memory);
    take_baseline(reader);
    return PROBE_OK;
}

void probe_cgroup_open_none(probe_cgroup_reader *reader) {
    forget(reader);
    reader->paths.version = 0;
}

void probe_cgroup_open_own(probe_cgroup_reader *reader, const probe_cgroup_paths *paths) {
    forget(reader);
    reader->paths = *paths;
    take_baseline(reader);
}

void probe_cgroup_settle(probe_cgroup_reader *reader, uint64_t memory_total) {
    reader->memory_total = memory_total;
    if (reader->paths.version != 0) {
        read_limits(reader);
    }
}

void probe_cgroup_step_ended(probe_cgroup_reader *reader) {
    static const probe_cgroup_key gauges[] = {PROBE_CG_MEMORY_CURRENT, PROBE_CG_MEMORY_RSS};
    if (reader->paths.version == 0) {
        return;
    }
    probe_cgroup_reading before = reader->last;
    read_figures(reader);
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++) {
        if (has(&before, gauges[i])) { /* what others in the group still hold counts as well */
            raise_to(&reader->last, gauges[i], before.value[gauges[i]]);
        }
    }
}

bool probe_cgroup_shared(const probe_cgroup_reader *reader, const char *proc_root,
                         const char *pid) {
    return reader->paths.version != 0 &&
           probe_cgroup_members_shared(&reader->members, proc_root, pid);
}

void probe_cgroup_close(probe_cgroup_reader *reader) {
    probe_cgroup_files_close(&reader->files);
}

void probe_cgroup_get(const probe_cgroup_reader *reader, probe_cgroup_reading *reading) {
    *reading = reader->last;
    if (reader->paths.version == 1 && reader->memory_total > 0 &&
        reading->value[PROBE_CG_MEMORY_LIMIT] > reader->memory_total) {
        reading->value[PROBE_CG_MEMORY_LIMIT] = 0;
    }
    reading->valid &= not_counters | reader->baseline_valid;
    if (!has(reading, PROBE_CG_MEMORY_CURRENT) || !has(reading, PROBE_CG_MEMORY_RSS)) {
        reading->valid &= ~memory_keys;
    }
    for (int key = 0; key < PROBE_CG_COUNT; key++) {
        uint64_t *value = &reading->value[key];
        if ((reading->valid & BIT(key)) == 0) {
            *value = 0;
        } else if ((not_counters & BIT(key)) == 0) {
            uint64_t base = reader->baseline[key];
            *value = *value > base ? *value - base : 0;
        }
    }
}
