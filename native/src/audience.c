#include "audience.h"

#include "bounded.h"
#include "descriptors.h"
#include "proc_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a finished task may be kept waiting for the file system of its stderr. */
static const int wait_ms = 1000;

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

/* What a descriptor is open on, as the kernel calls it: "pipe:[77]", "/dev/pts/3", "/home/log". A
 * stat would ask the file system. Empty: not known. */
static void read_target(const char *process, int fd, char target[PATH_MAX]) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%s/fd/%d", process, fd);
    ssize_t length = readlink(path, target, PATH_MAX - 1);
    target[length > 0 ? length : 0] = '\0';
}

probe_audience probe_audience_choose(const probe_options *options) {
    probe_audience a = {.fd = -1, .unicode = shows_utf8()};
    if (options->quiet) {
        return a;
    }
    probe_descriptor_kind kind = probe_descriptors_kind(2);
    bool device = kind == PROBE_DESCRIPTOR_DEVICE; /* isatty would ask a file system as well */
    a.may_hang = kind == PROBE_DESCRIPTOR_FILE;
    a.summary = options->summary_given ? options->summary
                                       : device && isatty(2) == 1 && !runs_under_an_engine();
    a.fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
    return a;
}

bool probe_audience_follows(const probe_audience *ears) {
    return ears->fd >= 0 && !ears->summary;
}

/* Both are asked for anew: a file may be renamed. */
void probe_audience_follow(probe_audience *ears, pid_t pid) {
    char process[24], theirs[PATH_MAX], ours[PATH_MAX];
    if (!probe_audience_follows(ears) || probe_proc_view_of("/proc") != PROBE_PROC_OURS) {
        return;
    }
    (void)snprintf(process, sizeof process, "%d", (int)pid);
    read_target(process, 2, theirs);
    read_target("self", ears->fd, ours);
    bool open = theirs[0] != '\0';
    if (open && strcmp(theirs, ours) == 0) {
        return;
    }
    probe_proc_stat status;
    bool ends = !open && (probe_proc_read_stat("/proc", pid, &status) != PROBE_OK ||
                          status.exiting || status.state == 'Z');
    if (!ends) { /* an ending process has no descriptors either, and last words may be due */
        if (!ears->may_hang) { /* nobody waits for the last writer of a file, but close may hang */
            (void)close(ears->fd);
        }
        ears->fd = -1;
    }
}

typedef struct {
    int fd;
    const char *text;
} message;

/* poll, too, may ask a file system. */
static int tell(void *argument) {
    const message *m = argument;
    struct pollfd out = {.fd = m->fd, .events = POLLOUT};
    if (poll(&out, 1, 100) == 1 && (out.revents & POLLOUT) != 0) {
        probe_say(m->fd, m->text);
    }
    return -1;
}

void probe_audience_tell(const probe_audience *ears, const char *text) {
    message m = {ears->fd, text};
    int none;
    pid_t left;
    if (ears->fd < 0 || text[0] == '\0') {
        return;
    }
    if (ears->may_hang) {
        (void)probe_bounded_run(tell, &m, &ears->fd, 1, wait_ms, &none, &left);
    } else {
        (void)tell(&m);
    }
}
