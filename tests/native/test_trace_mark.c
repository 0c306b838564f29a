/* What a descendant sees of the files that its ancestors write. */
#include "check.h"
#include "trace_mark.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char run_id[] = "0123456789abcdef0123456789abcdef";
static const struct stat here = {.st_dev = 0x801, .st_ino = 12345},
                         there = {.st_dev = 0x801, .st_ino = 123456};

/* What a child of this process finds. */
static probe_trace_ancestors found_by_child(const struct stat *directory, const char *name) {
    probe_trace_ancestors found = {0};
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        probe_trace_ancestors_find("/proc", directory, name, &found);
        _exit(write(ends[1], &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    CHECK(read(ends[0], &found, sizeof found) == (ssize_t)sizeof found);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return found;
}

static void check_found(const struct stat *directory, const char *name, const char *within,
                        bool same_name) {
    const probe_trace_ancestors found = found_by_child(directory, name);
    CHECK_STR(found.within, within);
    CHECK_INT(found.same_name, same_name);
}

static void names_are_told_apart(void) {
    check_found(&here, "trace.json", "", false);
    int mark = probe_trace_mark(run_id, &here, "trace.json");
    CHECK(mark > 2);
    check_found(&here, "trace.json", run_id, true);
    check_found(&here, "trace.jso", run_id, false);
    check_found(&here, "trace.json (deleted)", run_id, false);
    check_found(&here, "x.json", run_id, false);
    check_found(&there, "trace.json", "", false);
    (void)close(mark);
    check_found(&here, "trace.json", "", false);
}

static void the_longest_name_has_a_mark(void) {
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const struct stat far = {.st_dev = (dev_t)-1, .st_ino = (ino_t)-1};
    int mark = probe_trace_mark(run_id, &far, name);
    CHECK(mark > 2);
    check_found(&far, name, run_id, true);
    (void)close(mark);
}

/* As a program that forks has, while its own measurement is over. */
static void a_forked_copy_is_no_mark(void) {
    int mark = probe_trace_mark(run_id, &here, "trace.json"), ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1); /* until the parent has closed its own */
        check_found(&here, "trace.json", "", false);
        _exit(check_failures());
    }
    (void)close(mark);
    (void)close(ends[0]);
    (void)close(ends[1]);
    int status = -1;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

static void nearest_and_any(void) {
    static const char nearer[] = "fedcba9876543210fedcba9876543210";
    int mark = probe_trace_mark(run_id, &here, "trace.json");
    pid_t pid = fork();
    if (pid == 0) {
        (void)probe_trace_mark(nearer, &here, "x.json");
        check_found(&here, "trace.json", nearer, true); /* the name is a remoter ancestor's */
        check_found(&here, "x.json", nearer, true);
        check_found(&here, "y.json", nearer, false);
        _exit(check_failures());
    }
    int status = -1;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    (void)close(mark);
}

static void a_closed_standard_stream_stays_closed(void) {
    CHECK_INT(close(0), 0);
    int mark = probe_trace_mark(run_id, &here, "trace.json");
    CHECK(mark > 2);
    check_found(&here, "trace.json", run_id, true);
    (void)close(mark);
}

int main(void) {
    names_are_told_apart();
    the_longest_name_has_a_mark();
    a_forked_copy_is_no_mark();
    nearest_and_any();
    a_closed_standard_stream_stays_closed();
    return check_failures();
}
