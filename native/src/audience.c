#include "audience.h"

#include "proc_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool probe_say(int fd, const char *text) {
    size_t length = strlen(text);
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n <= 0 && errno != EINTR) {
            return false; /* nobody reads it: not the task's fault */
        }
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        }
    }
    return true;
}

/* An engine's log is no place for words that nobody asked for. */
static bool runs_under_an_engine(void) {
    static const char *const names[] = {
        "NXF_TASK_WORKDIR",        "NXF_CLI",          "SNAKEMAKE", "SLURM_JOB_ID",
        "KUBERNETES_SERVICE_HOST", "AWS_BATCH_JOB_ID", "GPU_BENCH", "CI"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool shows_utf8(void) {
    const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"}; /* in the order of precedence */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL ||
                   strstr(value, "utf-8") != NULL;
        }
    }
    return false;
}

probe_audience probe_audience_choose(const probe_options *options) {
    probe_audience a = {.fd = -1, .unicode = shows_utf8()};
    if (options->quiet) {
        return a;
    }
    a.summary =
        options->summary_given ? options->summary : isatty(2) == 1 && !runs_under_an_engine();
    a.fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
    if (a.fd >= 0 && fstat(a.fd, &a.at) != 0) {
        (void)close(a.fd);
        a.fd = -1;
    }
    return a;
}

bool probe_audience_follows(const probe_audience *ears) {
    return ears->fd >= 0 && !ears->summary;
}

void probe_audience_follow(probe_audience *ears, pid_t pid) {
    char path[32];
    struct stat now;
    if (!probe_audience_follows(ears) || probe_proc_view_of("/proc") != PROBE_PROC_OURS) {
        return;
    }
    (void)snprintf(path, sizeof path, "/proc/%d/fd/2", (int)pid);
    bool open = stat(path, &now) == 0;
    if (open && now.st_dev == ears->at.st_dev && now.st_ino == ears->at.st_ino) {
        return;
    }
    probe_proc_stat process;
    bool ends = !open && (probe_proc_read_stat("/proc", pid, &process) != PROBE_OK ||
                          process.exiting || process.state == 'Z');
    if (!ends) { /* an ending process has no descriptors either, and last words may be due */
        (void)close(ears->fd);
        ears->fd = -1;
    }
}

bool probe_audience_takes_a_line(int fd) {
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    return poll(&out, 1, 100) == 1 && (out.revents & POLLOUT) != 0;
}
