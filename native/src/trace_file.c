#include "trace_file.h"

#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Splits a path into its directory ("." without a slash) and the name of the file. */
static probe_status split(const char *path, char directory[PATH_MAX], char *name,
                          size_t name_size) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    int n;
    if (slash == NULL) {
        n = snprintf(directory, PATH_MAX, ".");
    } else {
        n = snprintf(directory, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    }
    if (n < 0 || n >= PATH_MAX || base[0] == '\0' || strlen(base) >= name_size) {
        return PROBE_E_ARGUMENT;
    }
    memcpy(name, base, strlen(base) + 1);
    return PROBE_OK;
}

probe_status probe_trace_file_open(probe_trace_file *target, const char *workdir, const char *file,
                                   probe_error *error) {
    char directory[PATH_MAX];
    *target = (probe_trace_file){.directory = -1, .below = file == NULL ? ".fusion" : NULL};
    if (file == NULL) {
        memcpy(target->name, "trace.json", sizeof "trace.json");
    } else if (split(file, directory, target->name, sizeof target->name) != PROBE_OK) {
        return probe_fail_detail(error, PROBE_E_ARGUMENT, 0, "not a file name", file);
    }
    const char *shown = file == NULL ? workdir : directory;
    target->directory = open(shown, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target->directory < 0) {
        int code = errno;
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%.4000s%s", shown, file == NULL ? "/.fusion" : "");
        return probe_fail_detail(error, PROBE_E_SYSCALL, code, "the directory cannot be opened",
                                 path);
    }
    (void)snprintf(target->path, sizeof target->path, "%s", shown);
    return PROBE_OK;
}

/* Replaces the directory by the one below it, which is made if need be. */
static probe_status enter(probe_trace_file *target, probe_error *error) {
    const char *what = NULL;
    int below = -1;
    if (mkdirat(target->directory, target->below, 0777) != 0 && errno != EEXIST) {
        what = "the directory cannot be made";
    } else {
        below = openat(target->directory, target->below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        what = below < 0 ? "the directory cannot be opened" : NULL;
    }
    int code = errno;
    (void)close(target->directory);
    target->directory = below;
    if (what == NULL) {
        return PROBE_OK;
    }
    char path[PATH_MAX];
    (void)probe_path_join(path, sizeof path, target->path, target->below);
    return probe_fail_detail(error, PROBE_E_SYSCALL, code, what, path);
}

probe_status probe_trace_file_settle(probe_trace_file *target, probe_error *error) {
    if (target->below != NULL && enter(target, error) != PROBE_OK) {
        return PROBE_E_SYSCALL;
    }
    char absolute[PATH_MAX];
    const char *shown = realpath(target->path, absolute) == NULL ? target->path : absolute;
    char whole[sizeof target->path + sizeof target->name + sizeof ".fusion" + 2];
    (void)snprintf(whole, sizeof whole, "%s/%s%s%s", shown,
                   target->below != NULL ? target->below : "", target->below != NULL ? "/" : "",
                   target->name);
    (void)snprintf(target->path, sizeof target->path, "%.*s", (int)sizeof target->path - 1, whole);
    (void)snprintf(target->temporary, sizeof target->temporary, ".%s.%d.tmp", target->name,
                   (int)getpid());
    return PROBE_OK;
}

probe_status probe_trace_file_beside(const probe_trace_file *trace, bool named,
                                     probe_trace_file *timeline) {
    static const char standard[] = "trace.";
    const char *name = trace->name;
    int stem = (int)strlen(name);
    if (stem > 5 && strcmp(name + stem - 5, ".json") == 0) {
        stem -= 5;
    }
    timeline->directory = trace->directory;
    bool replaced = !named && strncmp(name, standard, sizeof standard - 1) == 0;
    size_t size = sizeof timeline->name;
    int n = replaced ? snprintf(timeline->name, size, "timeline.%s", name + sizeof standard - 1)
                     : snprintf(timeline->name, size, "%.*s.timeline.json", stem, name);
    int directory = (int)(strlen(trace->path) - strlen(name));
    int p = snprintf(timeline->path, sizeof timeline->path, "%.*s%s", directory, trace->path,
                     timeline->name);
    (void)snprintf(timeline->temporary, sizeof timeline->temporary, ".%s.%d.tmp", timeline->name,
                   (int)getpid());
    bool fits = n > 0 && (size_t)n < size && p > 0 && (size_t)p < sizeof timeline->path;
    return fits ? PROBE_OK : PROBE_E_OVERFLOW;
}

static probe_status write_whole(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return PROBE_E_SYSCALL;
        }
        text += n;
        length -= (size_t)n;
    }
    return PROBE_OK;
}

probe_status probe_trace_file_write(const probe_trace_file *target, const char *text, size_t length,
                                    probe_error *error) {
    int fd = openat(target->directory, target->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0666);
    if (fd < 0) {
        return probe_fail_detail(error, PROBE_E_SYSCALL, errno, "the trace cannot be written",
                                 target->path);
    }
    probe_status status = write_whole(fd, text, length);
    int code = errno;
    if (close(fd) != 0 && status == PROBE_OK) { /* where network file systems report a full disk */
        status = PROBE_E_SYSCALL;
        code = errno;
    }
    if (status == PROBE_OK &&
        renameat(target->directory, target->temporary, target->directory, target->name) != 0) {
        status = PROBE_E_SYSCALL;
        code = errno;
    }
    if (status != PROBE_OK) {
        (void)unlinkat(target->directory, target->temporary, 0);
        return probe_fail_detail(error, status, code, "the trace cannot be written", target->path);
    }
    return PROBE_OK;
}

void probe_trace_file_close(probe_trace_file *target) {
    if (target->directory >= 0) {
        (void)close(target->directory);
        target->directory = -1;
    }
}
