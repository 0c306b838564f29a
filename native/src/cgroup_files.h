/* The files of a control group that are read again and again, kept open. */
#ifndef PROBE_CGROUP_FILES_H
#define PROBE_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* More than all figures come from; what would not fit is opened each time. */
enum { PROBE_CGROUP_FILES = 16 };

typedef struct {
    size_t count; /* 0: none yet */
    struct {
        const char *directory, *name; /* compared as pointers: both outlive this */
        int fd;                       /* -1: there is no such file */
    } file[PROBE_CGROUP_FILES];
} probe_cgroup_files;

/* Reads the file name in directory into buf, as text, and opens it first if need be. A file that
 * does not fit is cut: the keys we look for come early. False when it cannot be read. */
bool probe_cgroup_files_read(probe_cgroup_files *files, const char *directory, const char *name,
                             char *buf, size_t size);

/* The descriptors that are open, at most size. Returns their number. */
size_t probe_cgroup_files_descriptors(const probe_cgroup_files *files, int *fds, size_t size);

void probe_cgroup_files_close(probe_cgroup_files *files);

#endif
