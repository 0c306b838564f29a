/* Two writers over what a third one left. The linker puts __wrap_fstatat in the place of the
 * core's fstatat: the other writer acts between our looks and our renames. */
#include "check.h"
#include "file.h"
#include "trace_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define TRACE(run_id, state, n)                                                                    \
    "{\"probe\": {\"run_id\": \"" run_id "\", \"state\": \"" state "\", \"n\": " n "}}\n"

static const char left[] = TRACE("dead", "final", "0"), ours[] = TRACE("ours", "running", "0");
static const char first[] = TRACE("them", "running", "1"), newer[] = TRACE("them", "running", "2");

static char workdir[] = "/tmp/probe-claim-XXXXXX";
static probe_trace_place place;
static bool armed;
static int looks_at_trace, looks_at_temporary; /* while armed */
static void (*after_look)(void);

int __real_fstatat(int directory, const char *path, struct stat *at, int flags);
int __wrap_fstatat(int directory, const char *path, struct stat *at, int flags);

int __wrap_fstatat(int directory, const char *path, struct stat *at, int flags) {
    int result = __real_fstatat(directory, path, at, flags);
    int code = errno;
    if (armed) {
        looks_at_trace += strcmp(path, "trace.json") == 0;
        looks_at_temporary += strcmp(path, place.file.temporary) == 0;
        after_look();
    }
    errno = code;
    return result;
}

/* The other writer's rename over the trace. */
static void they_write(const char *text) {
    int fd = openat(place.file.directory, "theirs", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
    CHECK_INT(renameat(place.file.directory, "theirs", place.file.directory, "trace.json"), 0);
}

static void nobody_acts(void) {
}

/* After our last look at the trace, before our exchange. */
static void they_come_first(void) {
    if (looks_at_trace == 1 && looks_at_temporary == 1) {
        looks_at_trace++;
        they_write(first);
    }
}

/* And once more when our exchange has brought their first trace to light. */
static void they_come_twice(void) {
    they_come_first();
    if (looks_at_temporary == 2) {
        looks_at_temporary++;
        they_write(newer);
    }
}

static void they_remove_it(void) {
    if (looks_at_trace == 1) {
        looks_at_trace++;
        CHECK_INT(unlinkat(place.file.directory, "trace.json", 0), 0);
    }
}

static const char *text_of(const char *name) {
    static char text[256];
    text[0] = '\0';
    CHECK_INT(probe_file_read(place.file.directory, name, text, sizeof text, NULL), PROBE_OK);
    return text;
}

static int files_there(void) {
    int count = 0, fd = openat(place.file.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fdopendir(fd);
    CHECK(entries != NULL);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        if (entry->d_name[0] != '.') {
            CHECK_INT(unlinkat(fd, entry->d_name, 0), 0);
        }
    }
    (void)closedir(entries);
    return count;
}

/* Delivers ours over left while the other writer acts. Afterwards trace.json is expected, ours has
 * found a name, and nothing else is left. */
static void deliver(void (*act)(void), const char *expected, int files) {
    const probe_trace_place_config config = {
        .workdir = workdir, .run_id = "ours", .proc_root = "/nonexistent"};
    const probe_trace_parcel parcel = {.trace = ours, .trace_length = strlen(ours)};
    probe_trace_place_open(&place, &config);
    they_write(left);
    probe_trace_place_close(&place);
    probe_trace_place_open(&place, &config);
    CHECK_STR(place.file.name, "trace.json");
    looks_at_trace = looks_at_temporary = 0;
    after_look = act;
    armed = true;
    probe_trace_place_deliver(&place, &parcel);
    armed = false;
    CHECK(looks_at_trace > 0); /* or this libc's fstatat is not what was wrapped */
    CHECK_INT(place.error.status, PROBE_OK);
    CHECK_STR(text_of("trace.json"), expected);
    CHECK_STR(text_of(place.file.name), ours);
    probe_trace_place_deliver(&place, &parcel); /* the next checkpoint finds it as it left it */
    CHECK_STR(text_of("trace.json"), expected);
    CHECK_STR(text_of(place.file.name), ours);
    CHECK_INT(files_there(), files);
    probe_trace_place_close(&place);
}

int main(void) {
    CHECK(mkdtemp(workdir) != NULL);
    deliver(nobody_acts, ours, 1);
    deliver(they_come_first, first, 2);
    deliver(they_come_twice, newer, 2);
    deliver(they_remove_it, ours, 1);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", workdir);
    CHECK_INT(system(command), 0);
    return check_failures();
}
