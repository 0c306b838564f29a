/* A directory that stands for /proc, of files that the test writes. */
#ifndef PROBE_PROC_FIXTURE_H
#define PROBE_PROC_FIXTURE_H

#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static inline void make_root(void) {
    (void)snprintf(root, sizeof root, "/tmp/probe_test_proc_XXXXXX");
    CHECK(mkdtemp(root) != NULL);
}

/* name: "" for all. */
static inline void drop_directory(const char *name) {
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s/%s'", root, name);
    CHECK_INT(system(command), 0);
}

static inline void remove_root(void) {
    drop_directory("");
}

static inline void make_directories(const char *path) {
    char part[256];
    (void)snprintf(part, sizeof part, "%s", path);
    for (char *c = part + 1; *c != '\0'; c++) {
        if (*c == '/') {
            *c = '\0';
            (void)mkdir(part, 0777);
            *c = '/';
        }
    }
}

static inline void put(const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    make_directories(path);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (file != NULL) {
        CHECK(fputs(text, file) >= 0);
        CHECK_INT(fclose(file), 0);
    }
}

#endif
