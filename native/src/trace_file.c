#include "trace_file.h"

#include "clock.h"
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The buffers are large: to touch fresh memory costs as much as a read. */
void probe_trace_file_none(probe_trace_file *target) {
    target->directory = -1;
    target->name[0] = target->temporary[0] = target->writer[0] = target->path[0] = '\0';
}

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

/* Opens a directory; not in place of a standard stream that the caller had closed. */
static int open_directory(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fd > 2) {
        return fd;
    }
    int above = fcntl(fd, F_DUPFD_CLOEXEC, 3), code = errno;
    (void)close(fd);
    errno = code;
    return above;
}

/* Made by both wrappers of two that share a directory, or by two hosts: the names must differ. */
static void name_temporary(probe_trace_file *target) {
    unsigned int more = 0;
    if (getrandom(&more, sizeof more, GRND_NONBLOCK) != (ssize_t)sizeof more) {
        more = (unsigned int)probe_clock_mono_ns();
    }
    bool known = target->writer[0] != '\0';
    char pid[24] = "";
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)snprintf(target->temporary, sizeof target->temporary, ".%.150s.%s.%08x.tmp", target->name,
                   known ? target->writer : pid, more);
}

void probe_trace_file_sign(probe_trace_file *target, const char *writer) {
    (void)snprintf(target->writer, sizeof target->writer, "%s", writer);
    name_temporary(target);
}

static void set_path(probe_trace_file *target, const char *directory) {
    (void)snprintf(target->path, sizeof target->path, "%.*s/%s",
                   (int)(sizeof target->path - 1 - sizeof target->name), directory, target->name);
}

static probe_status open_named(probe_trace_file *target, const char *directory,
                               probe_error *error) {
    char absolute[PATH_MAX];
    target->directory = open_directory(directory);
    if (target->directory < 0) {
        return probe_fail_detail(error, PROBE_E_SYSCALL, errno, "the directory cannot be opened",
                                 directory);
    }
    set_path(target, realpath(directory, absolute) == NULL ? directory : absolute);
    name_temporary(target);
    return PROBE_OK;
}

probe_status probe_trace_file_open_in(probe_trace_file *target, const char *directory,
                                      const char *name, probe_error *error) {
    probe_trace_file_none(target);
    (void)snprintf(target->name, sizeof target->name, "%s", name);
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return probe_fail_detail(error, PROBE_E_SYSCALL, errno, "the directory cannot be made",
                                 directory);
    }
    return open_named(target, directory, error);
}

probe_status probe_trace_file_open(probe_trace_file *target, const char *workdir, const char *file,
                                   probe_error *error) {
    char directory[PATH_MAX];
    probe_trace_file_none(target);
    if (file == NULL) {
        if (probe_path_join(directory, sizeof directory, workdir, ".fusion") != PROBE_OK) {
            return probe_fail_detail(error, PROBE_E_ARGUMENT, ENAMETOOLONG, "the path is too long",
                                     workdir);
        }
        return probe_trace_file_open_in(target, directory, "trace.json", error);
    }
    if (split(file, directory, target->name, sizeof target->name) != PROBE_OK) {
        return probe_fail_detail(error, PROBE_E_ARGUMENT, 0, "not a file name", file);
    }
    struct stat there;
    if (lstat(file, &there) == 0 && !S_ISREG(there.st_mode)) {
        bool directory_there = S_ISDIR(there.st_mode);
        return probe_fail_detail(
            error, PROBE_E_ARGUMENT, directory_there ? EISDIR : EEXIST,
            directory_there ? "is a directory" : "is no regular file and is left alone", file);
    }
    return open_named(target, directory, error);
}

probe_status probe_trace_file_rename(probe_trace_file *target, const char *name) {
    char directory[PATH_MAX];
    const char *slash = strrchr(target->path, '/');
    if (slash == NULL || strlen(name) >= sizeof target->name) {
        return PROBE_E_OVERFLOW;
    }
    (void)snprintf(directory, sizeof directory, "%.*s", (int)(slash - target->path), target->path);
    (void)snprintf(target->name, sizeof target->name, "%s", name);
    set_path(target, directory);
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
    memcpy(timeline->writer, trace->writer, sizeof timeline->writer);
    bool replaced = !named && strncmp(name, standard, sizeof standard - 1) == 0;
    size_t size = sizeof timeline->name;
    int n = replaced ? snprintf(timeline->name, size, "timeline.%s", name + sizeof standard - 1)
                     : snprintf(timeline->name, size, "%.*s.timeline.json", stem, name);
    int directory = (int)(strlen(trace->path) - strlen(name));
    int p = snprintf(timeline->path, sizeof timeline->path, "%.*s%s", directory, trace->path,
                     timeline->name);
    name_temporary(timeline);
    bool fits = n > 0 && (size_t)n < size && p > 0 && (size_t)p < sizeof timeline->path;
    return fits ? PROBE_OK : PROBE_E_OVERFLOW;
}

static int write_whole(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? ENOSPC : errno;
        }
        text += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Writes a file whole and closes it. 0, or errno. */
static int write_file(const probe_trace_file *target, const char *name, int flags, const char *text,
                      size_t length) {
    int fd =
        openat(target->directory, name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | flags, 0666);
    if (fd < 0) {
        return errno;
    }
    int code = write_whole(fd, text, length);
    if (close(fd) != 0 && code == 0) { /* where network file systems report a full disk */
        code = errno;
    }
    return code;
}

int probe_trace_file_stage(const probe_trace_file *target, const char *text, size_t length,
                           struct stat *staged) {
    int code = write_file(target, target->temporary, O_CREAT | O_NOFOLLOW, text, length);
    if (code == 0 && staged != NULL &&
        fstatat(target->directory, target->temporary, staged, AT_SYMLINK_NOFOLLOW) != 0) {
        code = errno;
    }
    if (code != 0) {
        (void)unlinkat(target->directory, target->temporary, 0);
    }
    return code;
}

bool probe_trace_file_unsupported(int code) {
    return code == EXDEV || code == ENOSYS || code == EPERM || code == EOPNOTSUPP ||
           code == EINVAL || code == EMLINK;
}

int probe_trace_file_install(const probe_trace_file *target, const char *text, size_t length) {
    if (renameat(target->directory, target->temporary, target->directory, target->name) == 0) {
        return 0;
    }
    int code = errno;
    (void)unlinkat(target->directory, target->temporary, 0);
    return probe_trace_file_unsupported(code)
               ? write_file(target, target->name, O_CREAT, text, length)
               : code;
}

probe_status probe_trace_file_write(const probe_trace_file *target, const char *text, size_t length,
                                    probe_error *error) {
    int code = probe_trace_file_stage(target, text, length, NULL);
    code = code != 0 ? code : probe_trace_file_install(target, text, length);
    return code == 0 ? PROBE_OK
                     : probe_fail_detail(error, PROBE_E_SYSCALL, code,
                                         "the trace cannot be written", target->path);
}

void probe_trace_file_close(probe_trace_file *target) {
    if (target->directory >= 0) {
        (void)close(target->directory);
        target->directory = -1;
    }
}
