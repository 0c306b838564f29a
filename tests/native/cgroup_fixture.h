/* Control groups of a fixture tree, and copies of one that a test may change. */
#ifndef PROBE_CGROUP_FIXTURE_H
#define PROBE_CGROUP_FIXTURE_H

#include "cgroup_reader.h"
#include "check.h"
#include "proc_reader.h"

#include <stdlib.h>
#include <unistd.h>

#define GROUP "sys/fs/cgroup"

typedef struct {
    char root[256];
    probe_cgroup_reader reader;
    probe_cgroup_reading now;
    bool shared;
} fixture;

static inline probe_status open_at_root(fixture *f) {
    char proc_root[300];
    (void)snprintf(proc_root, sizeof proc_root, "%s/proc", f->root);
    probe_status status = probe_cgroup_open(&f->reader, proc_root, f->root, "self", NULL);
    probe_host host;
    probe_host_read(proc_root, &host);
    probe_cgroup_settle(&f->reader, host.mem_total_kib * 1024);
    f->shared = probe_cgroup_shared(&f->reader, proc_root, "self");
    probe_cgroup_get(&f->reader, &f->now);
    return status;
}

static inline probe_status open_case(fixture *f, const char *name) {
    (void)snprintf(f->root, sizeof f->root, "%s/cgroup/%s", TEST_DATA, name);
    return open_at_root(f);
}

static inline void run(const char *command) {
    CHECK_INT(system(command), 0);
}

/* A copy that the test may change; remove_copy deletes it. */
static inline void copy_case(fixture *f, const char *name) {
    char command[1024];
    (void)snprintf(f->root, sizeof f->root, "/tmp/probe_test_cgroup_XXXXXX");
    CHECK(mkdtemp(f->root) != NULL);
    (void)snprintf(command, sizeof command, "cp -r '%s/cgroup/%s/.' '%s'", TEST_DATA, name,
                   f->root);
    run(command);
}

static inline void remove_copy(const fixture *f) {
    char command[512];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", f->root);
    run(command);
}

static inline void path_in(const fixture *f, const char *name, char *path, size_t size) {
    (void)snprintf(path, size, "%s/%s", f->root, name);
}

static inline void write_file(const fixture *f, const char *name, const char *text) {
    char path[1024];
    path_in(f, name, path, sizeof path);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (file != NULL) {
        CHECK(fputs(text, file) >= 0);
        CHECK_INT(fclose(file), 0);
    }
}

static inline void delete_file(const fixture *f, const char *name) {
    char path[1024];
    path_in(f, name, path, sizeof path);
    CHECK_INT(unlink(path), 0);
}

static inline void step(fixture *f) {
    probe_cgroup_step(&f->reader);
    probe_cgroup_get(&f->reader, &f->now);
}

static inline bool valid(const fixture *f, probe_cgroup_key key) {
    return (f->now.valid & (UINT32_C(1) << key)) != 0;
}

#define CHECK_VALUE(f, key, expected)                                                              \
    do {                                                                                           \
        CHECK(valid(f, PROBE_CG_##key));                                                           \
        CHECK_INT((f)->now.value[PROBE_CG_##key], expected);                                       \
    } while (0)

#define CHECK_UNKNOWN(f, key)                                                                      \
    do {                                                                                           \
        CHECK(!valid(f, PROBE_CG_##key));                                                          \
        CHECK_INT((f)->now.value[PROBE_CG_##key], 0);                                              \
    } while (0)

static inline void check_directory(const fixture *f, const char *actual, const char *expected) {
    char path[1024];
    path_in(f, expected, path, sizeof path);
    CHECK_STR(actual, path);
}

#endif
