#include "trace_mark.h"

#include "proc_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A mark's name is "gpu-probe.PID.RUN_ID.DEVICE.INODE.NAME"; memfd_create takes 249 bytes. The
 * process id is there for the copies of the descriptor that forked children have. */
enum { ANCESTORS_MAX = 64, RUN_ID = 32, DIRECTORY_SIZE = 40, MARK_SIZE = 250 };

static const char ending[] = " (deleted)";

typedef struct {
    char directory[DIRECTORY_SIZE];
    char file[MARK_SIZE - RUN_ID]; /* begins with directory */
} mark_place;

static void describe(mark_place *place, const struct stat *directory, const char *name) {
    (void)snprintf(place->directory, sizeof place->directory, ".%jx.%jx.",
                   (uintmax_t)directory->st_dev, (uintmax_t)directory->st_ino);
    (void)snprintf(place->file, sizeof place->file, "%s%.150s", place->directory, name);
}

/* Not in place of a standard stream that the caller had closed. */
static int above_standard(int fd) {
    if (fd < 0 || fd > 2) {
        return fd;
    }
    int above = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)close(fd);
    return above;
}

int probe_trace_mark(const char *run_id, const struct stat *directory, const char *name) {
    const unsigned long close_on_exec = 1; /* MFD_CLOEXEC; not in every libc */
    char mark[MARK_SIZE];
    mark_place place;
    describe(&place, directory, name);
    (void)snprintf(mark, sizeof mark, "gpu-probe.%d.%.32s%.200s", (int)getpid(), run_id,
                   place.file);
    return above_standard((int)syscall(SYS_memfd_create, mark, close_on_exec));
}

/* Whether link is a mark of pid's, who writes to that directory. */
static bool read_mark(const char *link, pid_t pid, const mark_place *place,
                      probe_trace_ancestors *found) {
    char own[48];
    size_t length = (size_t)snprintf(own, sizeof own, "/memfd:gpu-probe.%d.", (int)pid);
    if (strncmp(link, own, length) != 0 || strlen(link) < length + RUN_ID + sizeof ending) {
        return false;
    }
    const char *run_id = link + length, *there = run_id + RUN_ID;
    if (strncmp(there, place->directory, strlen(place->directory)) != 0) {
        return false;
    }
    if (found->within[0] == '\0') {
        memcpy(found->within, run_id, RUN_ID);
    }
    size_t rest = strlen(place->file);
    bool same = strncmp(there, place->file, rest) == 0 && strcmp(there + rest, ending) == 0;
    found->same_name = found->same_name || same;
    return true;
}

static void look_at(const char *proc_root, pid_t pid, const mark_place *place,
                    probe_trace_ancestors *found) {
    char path[64], link[MARK_SIZE + 32];
    (void)snprintf(path, sizeof path, "%s/%d/fd", proc_root, (int)pid);
    DIR *descriptors = opendir(path);
    if (descriptors == NULL) {
        return;
    }
    bool met = false;
    const struct dirent *entry;
    while (!met && (entry = readdir(descriptors)) != NULL) {
        ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        met = read_mark(link, pid, place, found);
    }
    (void)closedir(descriptors);
}

void probe_trace_ancestors_find(const char *proc_root, const struct stat *directory,
                                const char *name, probe_trace_ancestors *found) {
    mark_place place;
    const char *by_number = probe_proc_by_number(proc_root);
    pid_t at = getppid();
    describe(&place, directory, name);
    *found = (probe_trace_ancestors){0};
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++) {
        probe_proc_stat stat;
        look_at(by_number, at, &place, found);
        at = probe_proc_read_stat(by_number, at, &stat) == PROBE_OK ? stat.ppid : 0;
    }
}
